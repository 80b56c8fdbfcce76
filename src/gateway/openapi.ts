import { z } from 'zod'
import type { AnswerForm, Route } from './routes/route.ts'
import { allRoutes, ownRoutes } from './routes/table.ts'

/** The OpenAPI document of all routes. */
export function openapi(version: string): object {
  const paths = new Map<string, Record<string, object>>(
    Object.entries({
      [ownRoutes.health]: { get: operation('health', 'Who answers, and since when.') },
      [ownRoutes.openapi]: { get: operation('openapi', 'This document.') },
      [ownRoutes.events]: {
        get: {
          ...operation('stream', 'Server-sent events: stored ones with their cursor as id, and text as it is written.'),
          parameters: ['after', 'run'].map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
        },
      },
    }),
  )
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
      schemas: { Problem: problem },
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

const nextCursor = {
  type: 'string',
  description: 'Send it as `after` for the rows that follow; missing on the last page.',
}

function operation(operationId: string, summary: string): object {
  return { operationId, summary, responses: responses(200, 'plain') }
}

function operationOf(method: string, route: Route): object {
  const { verb, path, input, summary, status, answer } = route
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
    responses: responses(status, answer),
  }
}

/** The method, with the noun of the path where a method has several routes. */
function operationId(method: string, path: string): string {
  const isOnly = allRoutes.filter((each) => each.method === method).length === 1
  return isOnly ? method : `${method}_${path.split('/')[2]}`
}

function responses(status: number, answer: AnswerForm): object {
  return {
    [status]: { description: 'Done.', content: contentOf(answer) },
    default: {
      description: 'Refused.',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  }
}

function contentOf(answer: AnswerForm): object {
  if (answer === 'lines' || answer === 'pieces') return { 'application/x-ndjson': {} }
  const object = { type: 'object' }
  if (answer === 'done')
    return { 'application/json': { schema: { ...object, required: ['ok'], properties: { ok: { const: true } } } } }
  if (typeof answer !== 'object') return { 'application/json': { schema: object } }
  if ('key' in answer) return { 'application/json': { schema: { ...object, required: [answer.key] } } }
  const properties = { [answer.rows]: { type: 'array' }, next: nextCursor }
  return { 'application/json': { schema: { ...object, required: [answer.rows], properties } } }
}
