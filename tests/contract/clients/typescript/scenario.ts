// Completes a checklist with openapi-typescript and openapi-fetch: template, dispatch, answer, wait, read.
// Reads {"base_url", "key", "photo"} (the photo in base64) from standard input and prints its results as JSON.
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.js'

type Definition = components['schemas']['DefinitionInput']
const UNKNOWN = 'r-00000000-0000-4000-8000-000000000000'

const given = JSON.parse(readFileSync(0, 'utf8')) as { base_url: string; key: string; photo: string }
const owner = createClient<paths>({ baseUrl: given.base_url, headers: { Authorization: `Bearer ${given.key}` } })

function must<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(`refused: ${JSON.stringify(answer.error)}`)
  return answer.data
}

// Omits fields with a default: the types must not require them.
const definition: Definition = {
  name: 'Opening check',
  sections: [
    {
      id: 'g-all',
      title: 'Kitchen',
      steps: [
        { id: 's-clean', type: 'boolean', label: 'Is it clean?', required: true },
        {
          id: 's-why',
          type: 'text',
          label: 'Why not?',
          required: true,
          condition: { when: { step: 's-clean', op: 'eq', value: false } },
        },
        { id: 's-temp', type: 'number', label: 'Temperature' },
        { id: 's-shelf', type: 'boolean', label: 'Shelf', photo: { min: 1, max: 2 } },
      ],
    },
  ],
}
const template = must(await owner.POST('/v1/templates', { body: definition }))
const run = must(
  await owner.POST('/v1/runs', {
    body: { template_id: template.id, executor_ref: 'typescript', expires_in_hours: 1.5 },
    params: { header: { 'Idempotency-Key': 'typescript-1' } },
  }),
)

const token = run.link.split('#')[1] ?? ''
const executor = createClient<paths>({ baseUrl: given.base_url, headers: { Authorization: `Executor ${token}` } })
const values: [string, components['schemas']['JsonValue']][] = [
  ['s-clean', false],
  ['s-why', 'The drain'],
  ['s-temp', 21.123456789],
  ['s-shelf', true],
]
for (const [step_id, value] of values) {
  must(
    await executor.PUT('/v1/executor/runs/{run_id}/answers/{step_id}', {
      params: { path: { run_id: run.run_id, step_id } },
      body: { value, op_id: step_id },
    }),
  )
}
must(
  await executor.POST('/v1/executor/runs/{run_id}/answers/{step_id}/photos', {
    params: { path: { run_id: run.run_id, step_id: 's-shelf' }, query: { op_id: 'photo' } },
    headers: { 'Content-Type': 'image/jpeg' },
    body: given.photo,
    bodySerializer: (photo) => Buffer.from(photo as string, 'base64'),
  }),
)
must(await executor.POST('/v1/executor/runs/{run_id}/submit', { params: { path: { run_id: run.run_id } }, body: {} }))

const path = { run_id: run.run_id }
let ended = must(await owner.GET('/v1/runs/{run_id}', { params: { path } }))
for (let attempt = 0; attempt < 600 && (ended.status === 'pending' || ended.status === 'in_progress'); attempt++) {
  await pause(100)
  ended = must(await owner.GET('/v1/runs/{run_id}', { params: { path } }))
}
const schema = must(await owner.GET('/v1/runs/{run_id}/answer-schema', { params: { path } }))
const missing = await owner.GET('/v1/runs/{run_id}', { params: { path: { run_id: UNKNOWN } } })
console.log(
  JSON.stringify({
    run_id: ended.run_id,
    status: ended.status,
    source: template.sections[0]?.steps[1]?.condition?.when.step,
    values: Object.fromEntries(Object.entries(ended.answers).map(([step_id, answer]) => [step_id, answer.value])),
    photos: ended.answers['s-shelf']?.photos.length,
    completed: ended.completed_at !== null,
    schema,
    refusal: missing.error?.error,
  }),
)
