import { ownRoutes } from './routes/table.ts'

/** The routes that call no method of App, for the OpenAPI document; `answers` has the schemas of what two of them answer. */
export function ownPaths(answers: ReadonlyMap<string, object>): Record<string, Record<string, object>> {
  const overTcp = 'Over TCP only.'
  return {
    [ownRoutes.health]: { get: operation('health', 'Who answers, and since when.', json(answers.get('Health'))) },
    [ownRoutes.openapi]: { get: operation('openapi', 'This document.', json({ type: 'object' })) },
    [ownRoutes.events]: {
      get: {
        ...operation(
          'stream',
          'Server-sent events: stored ones with their cursor as id, and text as it is written. Last-Event-ID counts more than `after`.',
          { 'text/event-stream': {} },
        ),
        parameters: [
          ...['after', 'run'].map((name) => ({ name, in: 'query', schema: { type: 'string' } })),
          { name: 'last-event-id', in: 'header', schema: { type: 'string' } },
        ],
      },
    },
    [ownRoutes.signIn]: {
      post: {
        ...operation('signIn', `Exchanges the code of a link for the cookie of a browser. ${overTcp}`, json(done)),
        security: [{}],
        requestBody: { required: true, content: json(codeBody) },
      },
    },
    [ownRoutes.signOut]: { post: operation('signOut', `Ends the cookie of a browser. ${overTcp}`, json(done)) },
    [ownRoutes.me]: {
      get: operation('me', `Who you are, and what a page shows first. ${overTcp}`, json(answers.get('Me'))),
    },
    [ownRoutes.metrics]: {
      get: operation('prometheus', `Figures in the format of Prometheus. ${overTcp}`, plainText),
    },
    [ownRoutes.healthz]: {
      get: { ...operation('healthz', `Whether the process lives. ${overTcp}`, plainText), security: [{}] },
    },
    [ownRoutes.readyz]: {
      get: {
        operationId: 'readyz',
        summary: `Whether the database answers and the worker holds its lease. ${overTcp}`,
        security: [{}],
        responses: {
          200: { description: 'Ready.', content: plainText },
          503: { description: 'Not ready.', content: plainText },
        },
      },
    },
  }
}

const done = { type: 'object', required: ['ok'], properties: { ok: { const: true } } }
const codeBody = { type: 'object', required: ['code'], properties: { code: { type: 'string', maxLength: 200 } } }
const plainText = { 'text/plain': { schema: { type: 'string' } } }

function json(schema: object = {}): object {
  return { 'application/json': { schema } }
}

function operation(operationId: string, summary: string, content: object): object {
  const problem = { $ref: '#/components/schemas/Problem' }
  return {
    operationId,
    summary,
    responses: {
      200: { description: 'Done.', content },
      default: { description: 'Refused.', content: { 'application/json': { schema: problem } } },
    },
  }
}
