{{/*
Service-level objectives: what counts, recorded over the windows of the Google SRE workbook, and alerts on how fast the
error budget is spent (multi-window, multi-burn-rate). docs/metrics.md says what each objective promises.
*/}}

{{/* How many events there were, or how many of them were errors, a second. Called with a dict: kind, of, window, in, le. */}}
{{- define "checklists.objectiveRate" -}}
{{- if eq .kind "dispatch" -}}
sum(rate(checklists_http_requests_total{namespace="{{ .in }}", route="/v1/runs", method="POST", status=~"{{ ternary "5.." "2..|5.." (eq .of "errors") }}"}[{{ .window }}]))
{{- else -}}
{{- $metric := ternary "checklists_outbox_lag_seconds" "checklists_expiry_lag_seconds" (eq .kind "first-attempt") -}}
{{- $more := ternary ", receiver=\"prompt\"" "" (eq .kind "first-attempt") -}}
sum(rate({{ $metric }}_count{namespace="{{ .in }}"{{ $more }}}[{{ .window }}]))
{{- if eq .of "errors" }} - sum(rate({{ $metric }}_bucket{namespace="{{ .in }}"{{ $more }}, le="{{ .le }}"}[{{ .window }}])){{- end -}}
{{- end -}}
{{- end -}}

{{/* One burn rate: over both windows more than `factor` times what the budget allows, and enough errors to mean it. */}}
{{- define "checklists.objectiveBurns" -}}
{{- $selector := printf "{namespace=\"%s\", objective=\"%s\"}" .in .kind -}}
{{- $allowed := printf "%v * (100 - %v) / 100" .factor .percent -}}
(
  checklists:objective_errors:rate{{ .long }}{{ $selector }} / checklists:objective_events:rate{{ .long }}{{ $selector }} > {{ $allowed }}
  and checklists:objective_errors:rate{{ .short }}{{ $selector }} / checklists:objective_events:rate{{ .short }}{{ $selector }} > {{ $allowed }}
  and checklists:objective_errors:rate{{ .long }}{{ $selector }} * {{ .seconds }} >= {{ .fewest }}
)
{{- end -}}

{{- define "checklists.objectiveGroups" -}}
{{- $in := .Release.Namespace -}}
{{- $values := .Values.metrics.objectives -}}
{{- $objectives := list
  (dict "kind" "dispatch" "alert" "ChecklistDispatchBudget" "percent" $values.dispatch "le" ""
    "promise" (printf "%v %% of the dispatches are answered without a server error" $values.dispatch))
  (dict "kind" "first-attempt" "alert" "ChecklistFirstAttemptBudget" "percent" $values.firstAttempt "le" (printf "%.1f" (float64 $values.firstAttemptSeconds))
    "promise" (printf "%v %% of the events are sent for the first time within %v seconds" $values.firstAttempt $values.firstAttemptSeconds))
  (dict "kind" "expiry" "alert" "ChecklistExpiryBudget" "percent" $values.expiry "le" (printf "%.1f" (float64 $values.expirySeconds))
    "promise" (printf "%v %% of the runs expire at most %v seconds late" $values.expiry $values.expirySeconds))
-}}
- name: checklist-dispatch-objectives
  rules:
    {{- range $objective := $objectives }}
    - record: checklists:objective:ratio
      expr: vector({{ $objective.percent }} / 100)
      labels: {namespace: {{ $in | quote }}, objective: {{ $objective.kind }}}
    {{- range $window := list "5m" "30m" "1h" "2h" "6h" "1d" "3d" }}
    {{- range $of := list "errors" "events" }}
    - record: checklists:objective_{{ $of }}:rate{{ $window }}
      expr: {{ include "checklists.objectiveRate" (merge (dict "of" $of "window" $window "in" $in) $objective) | quote }}
      labels: {namespace: {{ $in | quote }}, objective: {{ $objective.kind }}}
    {{- end }}
    {{- end }}
    {{- end }}
- name: checklist-dispatch-budgets
  rules:
    {{- range $objective := $objectives }}
    {{- $common := merge (dict "in" $in "fewest" $values.fewestErrors) $objective }}
    - alert: {{ $objective.alert }}Burning
      expr: |-
        {{- include "checklists.objectiveBurns" (merge (dict "factor" 14.4 "long" "1h" "short" "5m" "seconds" 3600) $common) | nindent 8 }}
        or
        {{- include "checklists.objectiveBurns" (merge (dict "factor" 6 "long" "6h" "short" "30m" "seconds" 21600) $common) | nindent 8 }}
      labels: {severity: critical}
      annotations:
        summary: The monthly error budget will be used up within days
        description: {{ printf "The objective is that %s. {{ $value | humanizePercentage }} did not." $objective.promise | quote }}
    - alert: {{ $objective.alert }}Shrinking
      expr: |-
        {{- include "checklists.objectiveBurns" (merge (dict "factor" 3 "long" "1d" "short" "2h" "seconds" 86400) $common) | nindent 8 }}
        or
        {{- include "checklists.objectiveBurns" (merge (dict "factor" 1 "long" "3d" "short" "6h" "seconds" 259200) $common) | nindent 8 }}
      for: 15m
      labels: {severity: warning}
      annotations:
        summary: The monthly error budget will not last the month
        description: {{ printf "The objective is that %s. {{ $value | humanizePercentage }} did not." $objective.promise | quote }}
    {{- end }}
{{- end -}}
