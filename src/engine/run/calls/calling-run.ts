import type { InboxItem } from '../../../domain/inbox.ts'
import type { Run } from '../../../domain/run.ts'
import type { Session } from '../../../domain/session.ts'
import type { CallContext } from '../../../domain/tools/tool.ts'
import type { Thread } from '../../../domain/turn.ts'

/** A child whose rows are not stored yet. */
export interface NewChild {
  run: Run
  session: Session
  /** The turn that its session starts at. */
  below: Thread | null
  /** Its task. */
  item: InboxItem
  /** Label of its requester's session. */
  requester: string
}

/** The run whose calls are made in one transaction: what they have read, and the children they start. */
export class CallingRun {
  /** As it is stored now. */
  readonly run: Run
  /** Stored when all calls are made. */
  readonly children: NewChild[] = []
  readonly #read = new Map<string, Promise<unknown>>()

  constructor(run: Run) {
    this.run = run
  }

  /** Reads what several calls need once. */
  once<T>(what: string, read: () => Promise<T>): Promise<T> {
    const known = this.#read.get(what) ?? read()
    this.#read.set(what, known)
    return known as Promise<T>
  }
}

/** The calling run of a call that is made with others in one transaction. */
export function callingRunOf({ caller }: Pick<CallContext, 'caller'>): CallingRun | undefined {
  return caller instanceof CallingRun ? caller : undefined
}

/** Reads something, once for all calls of a transaction. */
export function once<T>(call: Pick<CallContext, 'caller'>, what: string, read: () => Promise<T>): Promise<T> {
  return callingRunOf(call)?.once(what, read) ?? read()
}
