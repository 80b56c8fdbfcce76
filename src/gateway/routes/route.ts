import { z } from 'zod'
import type { App } from '../../api/app.ts'
import type { Clock } from '../../domain/clock.ts'

/** A method of App. */
type Method = keyof App

/** One way to call a method of App over HTTP. The server, the client and the OpenAPI document are made from it. */
export interface Route {
  verb: 'GET' | 'POST'
  /** `:id` stands for an id, as `idForm` says. */
  path: string
  /** One sentence for the OpenAPI document. */
  summary: string
  idForm: IdForm | null
  /** The query of a GET, the JSON body of a POST. */
  input: z.ZodObject
  /** Status of a successful answer. */
  status: 200 | 202
  answer: AnswerForm
  /** What an idempotency key means: it is kept with the answer, it changes nothing, or it is refused. */
  key: KeyUse
  /** The body is a stream of lines, and not JSON. */
  takesLines: boolean
  /**
   * Reads what it answers with as it is now; undefined for what has no version. The `version` is its ETag, and a change may
   * send the `expectedVersion` as If-Match.
   */
  newest: ((app: App) => Promise<VersionedAnswer>) | undefined
  /** Calls the App, with checked fields. */
  call(app: App, fields: Fields, request: RequestContext): Promise<unknown> | AsyncIterable<string>
  /** Fields for the method's arguments; undefined if another route of the method is meant, or none speaks it. */
  fieldsOf(args: readonly unknown[]): SentFields | undefined
}

/** Forms of an id in a path: an id or its end, a number, or text that the App checks. */
type IdForm = 'id' | 'number' | 'text'

/** Use of a key: answers that hold a secret are never kept; what only reads, or has its effect once anyway, needs none. */
type KeyUse = 'kept' | 'ignored' | 'refused'

/** An answer that counts its changes. */
export interface VersionedAnswer {
  version: number
}

/** How an answer looks on the wire: as it is, with `ok: true`, as a list below a key, as a page of a list with the cursor
 * `next` beside it, or as a stream of lines, each one as it is or, for pieces of a text, as a JSON string. */
export type AnswerForm = 'plain' | 'done' | 'lines' | 'pieces' | { key: string } | { rows: string }

/** Context of a request besides its fields. */
export interface RequestContext {
  clock: Clock
  /** A signal that aborts when the client hangs up or loses its rights. */
  gone(): AbortSignal
  /** The body of a route that takes lines. */
  lines: AsyncIterable<string>
}

/** Checked fields of a request; `id` is that of the path. */
export type Fields = Record<string, unknown>

/** Fields to send; `id` goes into the path. */
export type SentFields = { id?: string } & Record<string, unknown>

interface RouteSpec<M extends Method, S extends z.ZodObject> {
  path: string
  summary: string
  idForm?: IdForm
  input?: S
  status?: 200 | 202
  answer?: AnswerForm
  takesLines?: boolean
  key?: KeyUse
  newest?(app: App): Promise<VersionedAnswer>
  call(app: App, fields: z.output<S> & { id: string }, request: RequestContext): ReturnType<App[M]>
  /** Left out for routes that our own client does not use: they are for people and other programs. */
  fields?(...args: Parameters<App[M]>): SentFields | undefined
}

const noFields = z.strictObject({})
type NoFields = typeof noFields

/** A route of this method that reads. */
export function get<M extends Method, S extends z.ZodObject = NoFields>(_: M, spec: RouteSpec<M, S>): Route {
  return { ...made(spec), verb: 'GET', answer: spec.answer ?? 'plain' }
}

/** A route of this method that changes something, or reads with fields too long for an address. */
export function post<M extends Method, S extends z.ZodObject = NoFields>(_: M, spec: RouteSpec<M, S>): Route {
  return { ...made(spec), verb: 'POST', answer: spec.answer ?? 'done' }
}

function made<M extends Method, S extends z.ZodObject>(spec: RouteSpec<M, S>): Omit<Route, 'verb' | 'answer'> {
  const { path, summary, fields } = spec
  return {
    path,
    summary,
    idForm: path.includes(':id') ? (spec.idForm ?? 'id') : null,
    input: spec.input ?? noFields,
    status: spec.status ?? 200,
    takesLines: spec.takesLines ?? false,
    newest: spec.newest?.bind(spec),
    key: spec.key ?? (spec.takesLines ? 'ignored' : 'kept'),
    // The server checks the fields with this route's own schema before it calls.
    call: spec.call as unknown as Route['call'],
    fieldsOf: (args) => fields?.(...(args as Parameters<App[M]>)),
  }
}

/** The routes of some methods of App, at least one for each: a method without a route does not compile. */
export type RoutesOf<A> = { readonly [M in keyof A]: readonly [Route, ...Route[]] }

/** The id in a reference of this kind, or as the caller wrote it; undefined for a reference of another kind. */
export function idIn(reference: string, kind: string): string | undefined {
  if (reference.startsWith(`${kind}:`)) return reference.slice(kind.length + 1)
  return /^[a-z]+:/.test(reference) ? undefined : reference
}
