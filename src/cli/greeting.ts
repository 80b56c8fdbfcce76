import { rehearsal } from '../config/schema.ts'
import type { App } from '../domain/app.ts'
import type { Door } from '../gateway/api.ts'
import type { Daemon } from '../gateway/client.ts'
import { version } from '../version.ts'
import type { Here } from './cli.ts'
import { ago, cut, paint, printable } from './screen.ts'
import { lastSeen, markSeen } from './seen.ts'
import { count, modelWords, needsYouRows, newsRows, row, runningRow, todayWords } from './status.ts'

/** Turns that agents woke begin with what they hand over: nothing that a person remembers. */
const byAgents = /^(?:\[agent_result:|every agent that was started has ended|plan:\d)/
const lookedThrough = 20
const survey = 'survey this folder'

/** What a chat opens with: where one is, who answers, what it may cost, and what happened meanwhile. */
export async function greeting(
  here: Here,
  { app, door, session, model, isCoordinated, perRequestUsd, ownRuns, daemon }: Opening,
): Promise<string> {
  const since = lastSeen(here)
  const view = await door.status(here.folder, since.at)
  const plans = await door.plans({ folder: here.folder })
  const spent = todayWords(view)
  const limits = `stops at $${perRequestUsd.toFixed(2)} a request, $${view.dayLimitUsd.toFixed(2)} a day`
  const tried = isCoordinated ? `${survey} and write a report with a summary per part` : survey
  const lines = [
    `${paint(here.screen, 'bold', 'heddle')} ${version} · ${short(here)}`,
    row(here, 'session', await sessionLine(here, app, session)),
    row(here, 'model', modelWords(model ?? view.model)),
    ...((model ?? view.model) === rehearsal ? [row(here, 'try', tried)] : []),
    row(here, 'spend', `${spent} · ${limits}`),
    ...needsYouRows(here, view),
    ...(view.running + view.queued > ownRuns ? [runningRow(here, view, plans, daemon)] : []),
    ...(daemon ? [row(here, 'daemon', `up, process ${daemon.health.pid}`)] : []),
    ...newsRows(here, view, since),
  ]
  markSeen(here)
  return lines.join('\n')
}

export interface Opening {
  app: App
  door: Door
  session: string
  /** The model that was asked for; undefined: the usual one. */
  model: string | undefined
  /** Whoever answers can have others do the work. */
  isCoordinated: boolean
  perRequestUsd: number
  /** Runs that this talk is about: they are told of by themselves. */
  ownRuns: number
  daemon: Daemon | undefined
}

/** Where one left off. */
async function sessionLine(here: Here, app: App, session: string): Promise<string> {
  const label = printable(session)
  const found = (await app.sessions({ folder: here.folder })).find((each) => each.label === session)
  if (!found?.headTurnId) return `${label}, new: it begins with your first message`
  const turns = await app.log(here.folder, { of: session, limit: lookedThrough })
  const last = turns.findLast(({ preview }) => !byAgents.test(preview)) ?? turns.at(-1)
  const head = `${label}, ${count(found.depth, 'turn')}, ${ago(found.updatedAt, here.clock.now())}`
  const room = here.screen.columns - 11 - head.length - 6
  return last && room > 16 ? `${head}: “${cut(printable(last.preview), room)}”` : head
}

function short({ folder, userHome: home }: Here): string {
  return printable(folder === home || folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder)
}
