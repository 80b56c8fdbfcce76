import { rehearsal } from '../config/schema.ts'
import type { SessionView } from '../domain/app.ts'
import { tail } from '../domain/id.ts'
import type { PlanLine } from '../domain/plan-views.ts'
import type { StatusView } from '../domain/status-view.ts'
import type { Daemon } from '../gateway/client.ts'
import { version } from '../version.ts'
import type { Answer, Here, Register } from './cli.ts'
import { ago, cut, paint, printable } from './screen.ts'
import { type LastLook, lastSeen, markSeen } from './seen.ts'
import { isTalk } from './sessions.ts'
import { lostWords } from './spending-words.ts'

const mostNews = 5

export const registerStatus: Register = (program, run) => {
  program
    .command('status')
    .helpGroup('SEE')
    .description('where this folder stands: what needs you, what runs, what is new')
    .action(run(status))
}

export async function status(here: Here): Promise<Answer> {
  const app = await here.app()
  const daemon = await here.daemon()
  const since = lastSeen(here)
  const door = await here.door()
  const view = await door.status(here.folder, since.at)
  const plans = await door.plans({ folder: here.folder })
  const sessions = (await app.sessions({ folder: here.folder })).filter(isTalk)
  markSeen(here)
  return {
    json: { ...view, version, home: here.home, sessions: sessions.length, daemon: daemon?.health.pid ?? null },
    text: [
      `${paint(here.screen, 'bold', 'heddle')} ${version}`,
      row(here, 'folder', printable(here.folder)),
      row(here, 'home', printable(here.home)),
      ...sessionRows(here, sessions),
      row(here, 'model', modelWords(view.model)),
      row(here, 'spend', `${todayWords(view)} of $${view.dayLimitUsd.toFixed(2)}`),
      ...needsYouRows(here, view),
      runningRow(here, view, plans, daemon),
      row(here, 'daemon', daemon ? `up, process ${daemon.health.pid}` : 'not up    heddle up'),
      ...newsRows(here, view, since),
      row(here, 'help', 'heddle --help'),
    ].join('\n'),
  }
}

/** What was spent today, what is not known of it, and what is set aside. */
export function todayWords(view: StatusView): string {
  const { spentTodayUsd: costUsd, estimatedTodayUsd: estimatedUsd, lostTodayUsd: lostUsd, reservedTodayUsd } = view
  const reserved = reservedTodayUsd > 0 ? `, $${reservedTodayUsd.toFixed(2)} set aside` : ''
  const spent = `${estimatedUsd > 0 ? '~' : ''}$${(costUsd + estimatedUsd).toFixed(2)} today`
  return `${spent}${lostWords({ costUsd, lostUsd })}${reserved}`
}

function sessionRows(here: Here, sessions: SessionView[]): string[] {
  const main = sessions.find(({ label }) => label === 'main') ?? sessions[0]
  if (!main) return [row(here, 'session', 'none yet    heddle ask "…"')]
  const head = main.headTurnId ? `, head turn:${tail(main.headTurnId)}` : ''
  const used = ago(main.updatedAt, here.clock.now())
  const label = printable(main.label)
  return [
    row(here, 'session', `${label}, ${count(main.depth, 'turn')}${head}, ${used}    heddle log ${label}`),
    ...(sessions.length > 1 ? [row(here, '', `${sessions.length - 1} more    heddle sessions`)] : []),
  ]
}

export function needsYouRows(here: Here, { needsYou }: StatusView): string[] {
  const [first] = needsYou
  if (first === undefined) return []
  const name = first.startsWith('run:') ? `run:${tail(first)}` : first
  const next = first.startsWith('approval:') ? 'heddle approvals' : `heddle show ${name}`
  return [row(here, 'needs you', `${needsYou.length}, first ${name}    ${next}`)]
}

/** How much is under way, with the plan that it is for. */
export function runningRow(
  here: Here,
  { running, queued }: StatusView,
  plans: readonly PlanLine[],
  daemon: Daemon | undefined,
): string {
  const nobody = queued > 0 && running === 0 && !daemon
  const under = plans.filter(({ status }) => status === 'running')
  const look = under.length > 0 ? 'heddle plans -w' : 'heddle watch'
  const next = nobody ? 'heddle up' : running + queued + under.length > 0 ? look : ''
  const parts = [`${running}`, ...(queued > 0 ? [`${queued} queued`] : []), ...under.slice(0, 1).map(planWords)]
  const more = under.length > 1 ? [`${under.length - 1} more`] : []
  return row(here, 'running', `${[...parts, ...more].join(', ')}${next === '' ? '' : `    ${next}`}`)
}

function planWords({ id, counts }: PlanLine): string {
  const all = Object.values(counts).reduce((sum, each) => sum + each, 0)
  const failed = counts.failed ? `, ${counts.failed} failed` : ''
  return `plan ${id}: ${counts.completed ?? 0} of ${all} done${failed}`
}

export function newsRows(here: Here, { sinceLast }: StatusView, since: LastLook): string[] {
  if (sinceLast.length === 0) return []
  const news = sinceLast.slice(-mostNews)
  const when = since.isKnown ? ago(new Date(since.at).toISOString(), here.clock.now()) : 'the last day'
  return [
    row(here, since.isKnown ? 'since' : 'in', `${when}: ${count(sinceLast.length, 'new turn')}    heddle log`),
    ...news.map(({ turnId, session, status, preview }) => {
      const colour = status === 'completed' ? 'green' : 'red'
      const head = `${paint(here.screen, colour, status.padEnd(9))}  turn:${tail(turnId)}  ${printable(session)}  `
      return row(here, '', head + cut(printable(preview), Math.max(20, here.screen.columns - 50)))
    }),
  ]
}

export function row({ screen }: Pick<Here, 'screen'>, name: string, value: string): string {
  return `${paint(screen, name === 'needs you' ? 'yellow' : 'dim', name.padEnd(11))}${value}`
}

export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

/** Who answers; of the script that stands in for a model, what it is. */
export function modelWords(model: string | null): string {
  return model === rehearsal
    ? 'REHEARSAL: a script, no key, no network    heddle models add'
    : printable(model ?? 'none')
}
