import { findLastUserMessage } from '../../commands/last-user-message.ts'
import { rehearsal } from '../../config/schema.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import type { Client } from '../../gateway/api.ts'
import type { Daemon } from '../../gateway/client.ts'
import { version } from '../../version.ts'
import type { CommandContext } from '../command.ts'
import { describeModel, formatToday, needsYouRows, newsRows, runningRow, statusRow } from '../commands/status.ts'
import { formatAge, paint, printable, truncateToWidth } from '../terminal/screen.ts'
import { lastSeen, markSeen } from './last-visit.ts'

const surveyExample = 'survey this folder'

/** First lines of a chat: folder, session, model, budget, and news. */
export async function greeting(
  here: CommandContext,
  { client, session, model, isCoordinated, perRequestUsd, ownRuns, daemon }: GreetingContext,
): Promise<string> {
  const since = lastSeen(here)
  const view = await client.status(here.folder, since.at)
  const plans = await client.plans({ folder: here.folder })
  const spent = formatToday(view)
  const aDay = view.dayLimitUsd === null ? '' : `, $${view.dayLimitUsd.toFixed(2)} a day`
  const limits = `stops at $${perRequestUsd.toFixed(2)} a request${aDay}`
  const example = isCoordinated ? `${surveyExample} and write a report with a summary per part` : surveyExample
  const lines = [
    `${paint(here.screen, 'bold', 'heddle')} ${version} · ${short(here)}`,
    statusRow(here, 'session', await sessionLine(here, client, session)),
    statusRow(here, 'model', describeModel(model ?? view.model)),
    ...((model ?? view.model) === rehearsal ? [statusRow(here, 'try', example)] : []),
    statusRow(here, 'spend', `${spent} · ${limits}`),
    ...needsYouRows(here, view),
    ...(view.running + view.queued > ownRuns ? [runningRow(here, view, plans, daemon)] : []),
    ...(daemon ? [statusRow(here, 'daemon', `running (pid ${daemon.health.pid})`)] : []),
    ...newsRows(here, view, since),
  ]
  markSeen(here)
  return lines.join('\n')
}

interface GreetingContext {
  client: Client
  session: string
  /** The chosen model; undefined for the default. */
  model: string | undefined
  /** Whether the coordinator answers, which delegates. */
  isCoordinated: boolean
  perRequestUsd: number
  /** Runs of this chat: they are shown separately. */
  ownRuns: number
  daemon: Daemon | undefined
}

/** The session, with the last message of the user. */
async function sessionLine(here: CommandContext, client: Client, session: string): Promise<string> {
  const label = printable(session)
  const [found] = (await client.sessions({ folder: here.folder, label: session })).rows
  if (!found?.headTurnId) return `${label}, new: it starts with your first message`
  const last = await findLastUserMessage(client, here.folder, session)
  const head = `${label}, ${countNoun(found.depth, 'turn')}, ${formatAge(found.updatedAt, here.clock.now())}`
  const room = here.screen.columns - 11 - head.length - 6
  return last && room > 16 ? `${head}: “${truncateToWidth(printable(last), room)}”` : head
}

function short({ folder, userHome: home }: CommandContext): string {
  return printable(folder === home || folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder)
}
