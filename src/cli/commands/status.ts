import type { PlanLine } from '../../api/views/plan.ts'
import type { SessionView } from '../../api/views/session.ts'
import type { StatusView } from '../../api/views/status.ts'
import { userSessions } from '../../commands/sessions.ts'
import { rehearsal } from '../../config/schema.ts'
import { shortId } from '../../domain/id.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import type { Daemon } from '../../gateway/client.ts'
import { version } from '../../version.ts'
import { type LastVisit, lastSeen, markSeen } from '../chat/last-visit.ts'
import type { CommandContext, CommandResult, Register } from '../command.ts'
import { formatUntil } from '../pages/format-job-times.ts'
import { formatLost } from '../pages/format-spending.ts'
import { formatAge, paint, printable, truncateToWidth } from '../terminal/screen.ts'

const maxNews = 5

export const registerStatus: Register = (program, run) => {
  program
    .command('status')
    .helpGroup('SEE')
    .description('status of this folder: what needs you, what is running, what is new')
    .action(run(status))
}

export async function status(here: CommandContext): Promise<CommandResult> {
  const daemon = await here.daemon()
  const since = lastSeen(here)
  const client = await here.client()
  const view = await client.status(here.folder, since.at)
  const plans = await client.plans({ folder: here.folder })
  const { folder } = here
  const count = await client.countSessions({ folder, ...userSessions })
  const [main] = [
    ...(await client.sessions({ folder, label: 'main', ...userSessions })).rows,
    ...(await client.sessions({ folder, limit: 1, ...userSessions })).rows,
  ]
  markSeen(here)
  return {
    json: { ...view, version, home: here.home, sessions: count, daemon: daemon?.health.pid ?? null },
    text: [
      `${paint(here.screen, 'bold', 'heddle')} ${version}`,
      statusRow(here, 'folder', printable(here.folder)),
      statusRow(here, 'home', printable(here.home)),
      ...sessionRows(here, main, count),
      statusRow(here, 'model', describeModel(view.model)),
      statusRow(
        here,
        'spend',
        `${formatToday(view)}${view.dayLimitUsd === null ? '' : ` of $${view.dayLimitUsd.toFixed(2)}`}`,
      ),
      ...needsYouRows(here, view),
      runningRow(here, view, plans, daemon),
      ...jobRows(here, view),
      statusRow(here, 'daemon', daemon ? `running (pid ${daemon.health.pid})` : 'not running    heddle up'),
      ...newsRows(here, view, since),
      statusRow(here, 'help', 'heddle --help'),
    ].join('\n'),
  }
}

/** Today's cost: spent, possibly lost, and reserved. */
export function formatToday(view: StatusView): string {
  const { spentTodayUsd: costUsd, estimatedTodayUsd: estimatedUsd, lostTodayUsd: lostUsd, reservedTodayUsd } = view
  const reserved = reservedTodayUsd > 0 ? `, $${reservedTodayUsd.toFixed(2)} reserved` : ''
  const spent = `${estimatedUsd > 0 ? '~' : ''}$${(costUsd + estimatedUsd).toFixed(2)} today`
  return `${spent}${formatLost({ costUsd, lostUsd })}${reserved}`
}

function sessionRows(here: CommandContext, main: SessionView | undefined, count: number): string[] {
  if (!main) return [statusRow(here, 'session', 'none yet    heddle ask "…"')]
  const head = main.headTurnId ? `, head turn:${shortId(main.headTurnId)}` : ''
  const used = formatAge(main.updatedAt, here.clock.now())
  const label = printable(main.label)
  return [
    statusRow(here, 'session', `${label}, ${countNoun(main.depth, 'turn')}${head}, ${used}    heddle log ${label}`),
    ...(count > 1 ? [statusRow(here, '', `${count - 1} more    heddle sessions`)] : []),
  ]
}

export function needsYouRows(here: CommandContext, { needsYou }: StatusView): string[] {
  const [first] = needsYou
  if (first === undefined) return []
  const look = first.startsWith('plan:') ? `heddle plans ${first}` : 'heddle approvals'
  return [statusRow(here, 'needs you', `${needsYou.length}, first ${first}    ${look}`)]
}

/** Counts of running and queued runs, with the running plan. */
export function runningRow(
  here: CommandContext,
  { running, queued }: StatusView,
  plans: readonly PlanLine[],
  daemon: Daemon | undefined,
): string {
  const isIdle = queued > 0 && running === 0 && !daemon
  const under = plans.filter(({ status }) => status === 'running')
  const look = under.length > 0 ? 'heddle plans -w' : 'heddle watch'
  const next = isIdle ? 'heddle up' : running + queued + under.length > 0 ? look : ''
  const parts = [`${running}`, ...(queued > 0 ? [`${queued} queued`] : []), ...under.slice(0, 1).map(planWords)]
  const more = under.length > 1 ? [`${under.length - 1} more`] : []
  return statusRow(here, 'running', `${[...parts, ...more].join(', ')}${next === '' ? '' : `    ${next}`}`)
}

/** The next fires, and what of the jobs needs a look. */
export function jobRows(here: CommandContext, view: StatusView): string[] {
  const { nextFires, disabledJobs, deadMessages, jobsHeld } = view
  const now = here.clock.now()
  const next = nextFires.map(({ name, at }) => `${printable(name)} ${formatUntil(Date.parse(at) - now)}`)
  const notes = [
    ...(disabledJobs > 0 ? [`${countNoun(disabledJobs, 'job')} disabled after failures    heddle cron list`] : []),
    ...(deadMessages > 0 ? [`${countNoun(deadMessages, 'message')} not delivered    heddle cron outbox --dead`] : []),
  ]
  const first = jobsHeld
    ? [statusRow(here, 'needs you', 'jobs are paused since a backup was restored    heddle cron resume')]
    : next.length > 0
      ? [statusRow(here, 'next jobs', `${next.join(', ')}    heddle cron`)]
      : []
  return [...first, ...notes.map((note) => statusRow(here, 'needs you', note))]
}

function planWords({ id, counts }: PlanLine): string {
  const all = Object.values(counts).reduce((sum, each) => sum + each, 0)
  const failed = counts.failed ? `, ${counts.failed} failed` : ''
  return `plan ${id}: ${counts.completed ?? 0} of ${all} done${failed}`
}

export function newsRows(here: CommandContext, { sinceLast }: StatusView, since: LastVisit): string[] {
  if (sinceLast.length === 0) return []
  const news = sinceLast.slice(-maxNews)
  const when = since.isKnown ? `${formatAge(new Date(since.at).toISOString(), here.clock.now())}: ` : ''
  return [
    statusRow(
      here,
      since.isKnown ? 'since' : 'last day',
      `${when}${countNoun(sinceLast.length, 'new turn')}    heddle log`,
    ),
    ...news.map(({ turnId, session, status, preview }) => {
      const colour = status === 'completed' ? 'green' : 'red'
      const head = `${paint(here.screen, colour, status.padEnd(9))}  turn:${shortId(turnId)}  ${printable(session)}  `
      return statusRow(here, '', head + truncateToWidth(printable(preview), Math.max(20, here.screen.columns - 50)))
    }),
  ]
}

export function statusRow({ screen }: Pick<CommandContext, 'screen'>, name: string, value: string): string {
  return `${paint(screen, name === 'needs you' ? 'yellow' : 'dim', name.padEnd(11))}${value}`
}

/** The model in use; the rehearsal script is explained. */
export function describeModel(model: string | null): string {
  return model === rehearsal
    ? 'demo mode (rehearsal): no model configured    heddle models add'
    : printable(model ?? 'none')
}
