import { type Action, type ActionRow, actions } from '../../domain/access/actions.ts'
import type { Reach } from '../../domain/access/authorize.ts'
import type { ReferenceKind } from '../../domain/reference.ts'

/** Checks of a rule. Each throws to refuse: what belongs to another is refused as if it did not exist. */
export interface Checks {
  reach: Reach
  /** Checks the right to what is named, and returns the reference as others name it. */
  named(reference: string, folder: string, bare?: ReferenceKind): Promise<string>
  /** The session that the caller names, as others name it: its stored label, or a turn or persona; refused if another's. */
  session(target: string, folder: string): Promise<string>
  /** Refuses a caller without the right to an action that this one needs as well. */
  may(action: Action): void
  label(label: string): string
  /** The folder of a call: the one that the owner gave the user, whatever the caller says. An admin chooses. */
  folder(folder: string): Promise<string>
  /** Checks the right to an input. */
  input(itemId: string): Promise<void>
  /** Checks the right to a job, and returns its folder. */
  job(id: number): Promise<string>
  /** Checks the right to a message of a job. */
  message(id: number): Promise<void>
  refuse(): never
}

/** How one method of App is guarded. */
export interface Rule<Args extends unknown[]> {
  action: Action | ((...args: Args) => Action)
  /** Checks what the call names, and returns its arguments as the caller means them. */
  args?(checks: Checks, ...args: Args): Promise<Args>
  /** The resource that the audit names. */
  about?(...args: Args): string
  /** Free text of the call: the audit keeps its length and hash. */
  text?(...args: Args): string | undefined
  /** Whether it changes who may do what: the owner's calls are audited then, too. */
  audited?(...args: Args): boolean
}

/** The rules of some methods of App: a method without one does not compile. */
export type RulesOf<A> = { [K in keyof A]: A[K] extends (...args: infer Args) => unknown ? Rule<Args> : never }

/** For calls that change who may do what. */
export const always = () => true

export function actionOf(rule: Rule<unknown[]>, args: unknown[]): Action {
  return typeof rule.action === 'function' ? rule.action(...args) : rule.action
}

/** Whether an action changes something. */
export function isChange(action: Action): boolean {
  return (actions[action] as ActionRow).changes === true
}

export async function inFolder<T extends { folder?: string }>(
  checks: Checks,
  filter: T | undefined,
): Promise<T | undefined> {
  return filter?.folder === undefined ? filter : { ...filter, folder: await checks.folder(filter.folder) }
}
