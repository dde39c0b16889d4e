module checklists.dev/examples/receivers/go

go 1.22
