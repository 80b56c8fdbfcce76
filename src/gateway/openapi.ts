import { z } from 'zod'
import answerSchemas from './answer-schemas.json' with { type: 'json' }
import { ownPaths } from './own-paths.ts'
import type { AnswerForm, Route } from './routes/route.ts'
import { allRoutes } from './routes/table.ts'

/** A JSON schema. */
type Schema = Record<string, unknown>

/** Schemas of what the methods of App answer, made from their types; those without one answer with nothing or a stream. */
const schemasByMethod = new Map<string, Schema>(Object.entries(answerSchemas.answers))

/** The OpenAPI document of all routes. */
export function openapi(version: string): object {
  const paths = new Map<string, Record<string, object>>(Object.entries(ownPaths(schemasByMethod)))
  for (const { method, route } of allRoutes) {
    const path = route.path.replace(':id', '{id}')
    paths.set(path, { ...paths.get(path), [route.verb.toLowerCase()]: operationOf(method, route) })
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Heddle',
      version,
      description: 'Everything that a client can ask for. Errors have a code, a message and a remedy.',
    },
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: problem, ...answerSchemas.definitions },
    },
    security: [{}, { token: [] }],
  }
}

const problem = {
  type: 'object',
  required: ['ok', 'error'],
  properties: {
    ok: { const: false },
    error: {
      type: 'object',
      required: ['code', 'message', 'remedy', 'retry'],
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        remedy: { type: 'string', description: 'What to do next.' },
        retry: { enum: ['never', 'later'], description: 'Whether the same request can succeed later.' },
      },
    },
  },
}

const problemRef = { $ref: '#/components/schemas/Problem' }
const refused = { description: 'Refused.', content: { 'application/json': { schema: problemRef } } }

const nextCursor = {
  type: 'string',
  description: 'Send it as `after` for the rows that follow; missing on the last page.',
}

function operationOf(method: string, route: Route): object {
  const { verb, path, input, summary } = route
  const schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })
  const id = {
    name: 'id',
    in: 'path',
    required: true,
    schema: { type: route.idForm === 'number' ? 'integer' : 'string' },
  }
  const query = Object.entries(verb === 'GET' ? (schema.properties ?? {}) : {}).map(([name, of]) => ({
    name,
    in: 'query',
    required: schema.required?.includes(name) ?? false,
    schema: of,
  }))
  const parameters = [...(route.idForm === null ? [] : [id]), ...query]
  const content = route.takesLines ? { 'application/x-ndjson': {} } : { 'application/json': { schema } }
  return {
    operationId: operationId(method, path),
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(verb === 'POST' && { requestBody: { required: true, content } }),
    responses: responses(method, route),
  }
}

/** The method, with the noun of the path where a method has several routes. */
function operationId(method: string, path: string): string {
  const isOnly = allRoutes.filter((each) => each.method === method).length === 1
  return isOnly ? method : `${method}_${path.split('/')[2]}`
}

function responses(method: string, { verb, status, answer, newest }: Route): object {
  const isChange = verb === 'POST'
  const etag = { etag: { schema: { type: 'string' }, description: 'The version, for If-Match.' } }
  return {
    [status]: {
      description: 'Done.',
      ...(newest && { headers: etag }),
      content: mediaTypes(answer, schemasByMethod.get(method)),
    },
    ...(newest && !isChange && { 304: { description: 'It is still at the version of If-None-Match.' } }),
    ...(newest && isChange && { 409: stale('expectedVersion'), 412: stale('If-Match') }),
    default: refused,
  }
}

/** Version conflict: the body has the newest. */
function stale(named: string): object {
  const schema = { allOf: [problemRef, { type: 'object', required: ['newest'] }] }
  return { description: `It is at another version than ${named} says.`, content: { 'application/json': { schema } } }
}

function mediaTypes(answer: AnswerForm, of: Schema | undefined): object {
  if (answer === 'lines' || answer === 'pieces') return { 'application/x-ndjson': {} }
  return { 'application/json': { schema: wireSchema(answer, of) } }
}

/** The schema of an answer as it is sent. */
function wireSchema(answer: Exclude<AnswerForm, 'lines' | 'pieces'>, of: Schema | undefined): Schema {
  if (answer === 'plain') return of ?? {}
  if (answer === 'done') {
    const done = { type: 'object', required: ['ok'], properties: { ok: { const: true } } }
    return of ? { allOf: [done, of] } : done
  }
  if ('key' in answer) return { type: 'object', required: [answer.key], properties: { [answer.key]: of ?? {} } }
  const { rows, ...others } = { ...(of?.['properties'] as Schema | undefined) }
  const required = ((of?.['required'] as string[] | undefined) ?? []).map((name) =>
    name === 'rows' ? answer.rows : name,
  )
  return { type: 'object', required, properties: { [answer.rows]: rows, ...others, next: nextCursor } }
}
