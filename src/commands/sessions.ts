import type { App } from '../api/app.ts'
import type { SessionView } from '../api/views/session.ts'
import { UsageError } from '../domain/errors.ts'
import { shortId } from '../domain/id.ts'
import { checkLabel, checkUserLabel } from '../domain/session.ts'
import { countNoun } from '../domain/text/count-noun.ts'
import { nearest } from '../domain/text/nearest.ts'
import { type ChatContext, defineCommand } from './command.ts'
import { tableOutcome, textOutcome } from './outcome.ts'

/** Conversations of the user: not archived, and not an agent's own session. */
export const userSessions = { kind: 'person', archived: false } as const

/** Sessions that /sessions lists, and that a mistyped label is compared with: the last used ones. */
const [maxListed, maxCompared] = [30, 100]

export const sessionCommands = [
  defineCommand({
    name: 'sessions',
    usage: '/sessions',
    summary: 'the sessions of this folder, most recently used first',
    example: '/sessions',
    action: 'session.list',
    aliases: ['session'],
    async run({ app, folder, session }) {
      const { rows } = await app.sessions({ folder, limit: maxListed, ...userSessions })
      const other = rows.find(({ label }) => label !== session)
      return tableOutcome(rows, {
        columns: {
          '': ({ label }) => (label === session ? '*' : ''),
          session: ({ label }) => label,
          turns: ({ depth }) => depth,
          used: ({ updatedAt }) => updatedAt,
        },
        wide: 'session',
        empty: 'no session yet: one starts with your first message',
        next: other ? `/switch ${other.label}` : '/new starts another',
      })
    },
  }),
  defineCommand({
    name: 'switch',
    usage: '/switch label',
    summary: 'go to another session',
    example: '/switch second-try',
    action: 'session.list',
    parse: (words) => words.word('label'),
    async run(context, label) {
      const { label: session, depth } = await findChatSession(context, label)
      if (session === context.session) return textOutcome(`you are in ${session}`, { next: '/sessions' })
      return textOutcome(`session ${session} has ${countNoun(depth, 'turn')}`, {
        go: { session, isNew: false },
        next: wayBack(context),
      })
    },
  }),
  defineCommand({
    name: 'new',
    usage: '/new [label]',
    summary: 'a new session',
    example: '/new second-try',
    action: 'session.list',
    parse: (words) => words.optionalWord(),
    async run(context, label) {
      const session = await freshLabel(context.app, context.folder, label)
      return textOutcome(`session ${session} starts with your next message`, {
        go: { session, isNew: true },
        next: wayBack(context),
      })
    },
  }),
  defineCommand({
    name: 'fork',
    usage: '/fork [turn] [label]',
    summary: 'a new session from a turn, the last one if none is named',
    example: '/fork turn:4c1e07 second-try',
    action: 'turn.fork',
    parse: (words) => ({ turn: words.optionalWord(), label: words.optionalWord() }),
    async run(context, { turn, label }) {
      const from = { turn: turn ?? context.session, ...(label !== undefined && { label }) }
      const { session, headTurnId } = await context.app.fork(context.folder, from)
      return textOutcome(`session ${session} starts at turn:${shortId(headTurnId)}`, {
        go: { session, isNew: false },
        next: wayBack(context),
      })
    },
  }),
]

function wayBack({ session }: ChatContext): string {
  return `back: /switch ${session}`
}

async function findChatSession({ app, folder }: ChatContext, label: string): Promise<SessionView> {
  const [found] = (await app.sessions({ folder, label: label.normalize('NFC'), ...userSessions })).rows
  if (found) return found
  const { rows: others } = await app.sessions({ folder, limit: maxCompared, ...userSessions })
  const close = nearest(
    label,
    others.map((session) => session.label),
  )
  throw new UsageError(
    `there is no session ${label} here`,
    close
      ? `did you mean /switch ${close}?`
      : `/sessions lists them${canBeNew(label) ? `; /new ${label} starts it` : ''}`,
  )
}

/** Whether a user can start a session with this label. */
function canBeNew(label: string): boolean {
  try {
    return checkUserLabel(checkLabel(label)) !== ''
  } catch (error) {
    if (error instanceof UsageError) return false
    throw error
  }
}

/** Label for a new session: the given one, or the next free one. */
async function freshLabel(app: App, folder: string, label: string | undefined): Promise<string> {
  const isTaken = async (chosen: string) => (await app.sessions({ folder, label: chosen })).rows.length > 0
  if (label === undefined) {
    for (let number = 2; ; number++) if (!(await isTaken(`chat-${number}`))) return `chat-${number}`
  }
  const chosen = checkUserLabel(checkLabel(label))
  if (await isTaken(chosen)) throw new UsageError(`session ${chosen} already exists`, `go there: /switch ${chosen}`)
  return chosen
}
