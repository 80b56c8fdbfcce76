import type { App } from '../../api/app.ts'
import type { Action } from '../../domain/access/actions.ts'
import { authorize, forbidden, type Resource, rankOf } from '../../domain/access/authorize.ts'
import { isOwner } from '../../domain/access/principal.ts'
import { HeddleError } from '../../domain/errors.ts'
import { parseReference, type ReferenceKind } from '../../domain/reference.ts'
import { isLabelOf, labelFor } from '../../domain/session.ts'
import { noJob } from '../../engine/jobs/change-job.ts'
import { userOf } from '../../engine/run/sender.ts'
import type { Runtime } from '../../engine/runtime.ts'
import { notFound } from '../../engine/turns/route.ts'
import { findResource, resourceOfInput } from '../../engine/views/belongs-to.ts'
import { findJob } from '../../store/rows/jobs/jobs.ts'
import { findMessage } from '../../store/rows/jobs/outbox.ts'
import { noMessage } from '../job-app.ts'
import { beginAudit } from './audit.ts'
import type { Caller } from './caller.ts'
import { actionOf, type Checks, type Rule } from './rule.ts'
import { rules } from './rules.ts'

/** Methods that answer with a stream, which is checked before its first item. */
const streams: ReadonlySet<keyof App> = new Set(['exportTurns', 'follow', 'exportMemories'])

/**
 * The App as a principal may use it: every method has a rule, which is checked before the call. What is another's does not
 * exist for a caller who may only reach its own. The owner's calls go through unchecked; changes of who may do what are
 * audited even so.
 */
export function guardApp(app: App, caller: Caller, runtime: Pick<Runtime, 'store' | 'clock'>): App {
  const names = Object.keys(rules) as (keyof App)[]
  return Object.fromEntries(names.map((name) => [name, guardedMethod(app, name, caller, runtime)])) as unknown as App
}

type AnyMethod = (...args: unknown[]) => Promise<unknown> & AsyncIterable<unknown>

function guardedMethod(
  app: App,
  name: keyof App,
  caller: Caller,
  runtime: Pick<Runtime, 'store' | 'clock'>,
): AnyMethod {
  const method = app[name] as AnyMethod
  const rule = rules[name] as unknown as Rule<unknown[]>
  if (isOwner(caller.principal) && !rule.audited) return method
  const checked = (args: unknown[]) => check(rule, args, caller, runtime)
  if (streams.has(name))
    return async function* (...args: unknown[]) {
      yield* method(...(await checked(args)).args)
    } as unknown as AnyMethod
  return (async (...args: unknown[]) => {
    const audit = await beginAudit(runtime, caller, rule, args)
    try {
      const answer = await method(...(await checked(args)).args)
      await audit?.('ok')
      return answer
    } catch (error) {
      await audit?.(error instanceof HeddleError ? error.code : 'error')
      throw error
    }
  }) as AnyMethod
}

/** Throws if the caller may not do this; returns the arguments as the caller means them. */
async function check(
  rule: Rule<unknown[]>,
  args: unknown[],
  caller: Caller,
  { store }: Pick<Runtime, 'store'>,
): Promise<{ args: unknown[] }> {
  if (isOwner(caller.principal)) return { args }
  const action = actionOf(rule, args)
  if (caller.reach(action) === 'none') throw forbidden(caller.principal, action)
  return { args: rule.args ? await rule.args(checksFor(action, caller, store), ...args) : args }
}

function checksFor(action: Action, caller: Caller, store: Runtime['store']): Checks {
  const { principal, text } = caller
  const may = (resource: Resource) => authorize(principal, action, resource)
  const named: Checks['named'] = async (reference, folder, bare) => {
    const found = await store.read((rows) =>
      findResource(rows, reference, { folder, caller: text, ...(bare && { bare }) }),
    )
    if (!found || !may(found)) throw notNamed(reference, bare)
    return found.reference
  }
  return {
    named,
    may(needed) {
      if (caller.reach(needed) === 'none') throw forbidden(principal, needed)
    },
    reach: caller.reach(action),
    label: (label) => labelFor(text, label),
    async folder(folder) {
      if (rankOf(principal) === 'admin') return folder
      const user = await store.read((rows) => userOf(rows, text))
      return user?.folder ?? folder
    },
    async session(target, folder) {
      const { kind, id } = parseReference(target)
      if (kind === 'turn') return named(target, folder)
      if (kind !== null && kind !== 'session') return target
      const naming = { folder, caller: text }
      const found = await store.read((rows) => findResource(rows, `session:${id}`, naming))
      // Another's session and one that does not exist are told of in the same words.
      if (found ? !may(found) : !isLabelOf(text, labelFor(text, id))) throw notFound('session', id)
      return labelFor(text, id)
    },
    async input(itemId) {
      const found = await store.read((rows) => resourceOfInput(rows, itemId))
      if (!found || !may(found)) throw notFound('input', itemId)
    },
    async job(id) {
      const job = Number.isSafeInteger(id) ? await store.read((rows) => findJob(rows, id)) : undefined
      if (!job || !may(job)) throw noJob(id)
      return job.folder
    },
    async message(id) {
      const message = Number.isSafeInteger(id) ? await store.read((rows) => findMessage(rows, id)) : undefined
      if (!message || !may(message)) throw noMessage(id)
    },
    refuse() {
      throw forbidden(principal, action)
    },
  }
}

/** The words of what does not exist: those of another's thing must be the same. */
function notNamed(reference: string, bare: ReferenceKind | undefined): HeddleError {
  const { kind, id } = parseReference(reference)
  const of = kind ?? bare
  if (of === undefined) return notFound('session, turn or run', id)
  if (of === 'narrative' || of === 'persona' || of === 'file')
    return new HeddleError('not_found', `there is no ${of} "${id}" here`, 'heddle sessions lists what you can look at')
  return notFound(of, id)
}
