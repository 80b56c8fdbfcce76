import type { PlanLine, PlanView } from '../../api/views/plan.ts'
import { HeddleError, UsageError } from '../../domain/errors.ts'
import type { Client } from '../../gateway/api.ts'
import type { CommandContext, CommandResult, Register } from '../command.ts'
import { watchPlan } from '../live/watch-plan.ts'
import { drawPlan } from '../pages/plan-graph.ts'
import { nextForPlan, noticesOf } from '../pages/plan-page.ts'
import { formatAge, printable, table } from '../terminal/screen.ts'
import { numberOf } from './plan-number.ts'

export const registerPlans: Register = (program, run) => {
  program
    .command('plans [plan]')
    .alias('projects')
    .helpGroup('SEE')
    .description('plans of this folder and their progress')
    .option('-a, --all', 'of every folder')
    .option('-w, --watch', 'follow a plan until it ends; Ctrl-C leaves, the plan continues')
    .addHelpText(
      'after',
      [
        '\nWith -w and no plan: the one that is running here, or waiting for your approval.',
        'Examples: heddle plans -w    heddle plans plan:2\n          heddle show plan:2    heddle cancel plan:2',
      ].join('\n'),
    )
    .action(
      run(async (here, [name], options) => {
        if (name !== undefined && options['all'] === true)
          throw new UsageError('--all only works for the list', 'leave one of them out')
        const client = await here.client()
        if (options['watch'] === true) return watch(here, client, name, options['all'] === true)
        if (name !== undefined) return showPlan(here, await client.plan(`plan:${numberOf(name, 'plan')}`))
        const plans = await client.plans(options['all'] === true ? {} : { folder: here.folder })
        return { json: { plans }, text: listOf(here, plans, options['all'] === true) }
      }),
    )
}

function listOf(here: CommandContext, plans: PlanLine[], all: boolean): string {
  if (plans.length === 0)
    return `no plan${all ? '' : ' in this folder'} yet    heddle ask "…" makes one${all ? '' : ', heddle plans --all'}`
  const rows = plans.map((plan) => [
    `plan:${plan.id}`,
    plan.status,
    counted(plan),
    printable(plan.title),
    printable(plan.session ?? '–'),
    formatAge(plan.finishedAt ?? plan.createdAt, here.clock.now()),
  ])
  return table(here.screen, rows, 3)
}

/** Statuses that `7 of 12` does not tell, the most urgent first; what is pending is the rest. */
const countedStatuses = ['failed', 'blocked', 'cancelled', 'skipped', 'running'] as const

/** `7 of 12, 1 failed`. */
function counted({ counts }: PlanLine): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const others = countedStatuses.filter((status) => counts[status])
  return [`${counts.completed ?? 0} of ${all}`, ...others.map((status) => `${counts[status]} ${status}`)].join(', ')
}

async function showPlan(here: CommandContext, plan: PlanView): Promise<CommandResult> {
  const next = nextForPlan(plan)
  const lines = drawPlan(plan, { ...here.screen, rows: Number.POSITIVE_INFINITY })
  return { json: plan, text: [...lines, ...noticesOf(here.screen, plan), ...(next === null ? [] : [next])].join('\n') }
}

async function watch(
  here: CommandContext,
  client: Client,
  name: string | undefined,
  all: boolean,
): Promise<CommandResult> {
  const id = name === undefined ? await busiest(here, client, all) : numberOf(name, 'plan')
  const { agents } = await (await import('./set-up.ts')).load(here)
  // With --json stdout gets one document only.
  const output = here.json ? here.io.stderr : here.io.stdout
  const screen = here.json ? { ...here.screen, isTerminal: false, color: false } : here.screen
  await warnIfIdle(here, client, id)
  const { app, clock, stopped: signal } = here
  const plan = await watchPlan({ app, clock, screen, signal, output, maxAgents: agents.maxConcurrent }, client, id)
  const next = nextForPlan(plan)
  const notices = noticesOf(here.screen, { lost: plan.lost ?? [] })
  const ended = { completed: 0, failed: 1, cancelled: 130, running: 130, proposed: 130 }[plan.status]
  const last = next === null ? [] : [`plan:${id} ${statusWords[plan.status]}    ${next}`]
  return { json: plan, text: [...notices, ...last].join('\n'), code: ended }
}

const statusWords = {
  completed: 'is done',
  failed: 'has stopped',
  cancelled: 'is cancelled',
  running: 'continues',
  proposed: 'is waiting to be started',
}

/** The newest plan that is running, else the newest that waits to be started. */
async function busiest(here: CommandContext, client: Client, all: boolean): Promise<number> {
  const plans = await client.plans(all ? {} : { folder: here.folder })
  const found = plans.find(({ status }) => status === 'running') ?? plans.find(({ status }) => status === 'proposed')
  if (found) return found.id
  const [last] = plans
  throw new HeddleError(
    'nothing_to_watch',
    `no plan is running${all ? '' : ' in this folder'}`,
    last
      ? `look at the last one: heddle plans plan:${last.id}`
      : 'heddle ask "…" makes one for work with several parts',
  )
}

async function warnIfIdle(here: CommandContext, client: Client, id: number): Promise<void> {
  const { status } = await client.plan(`plan:${id}`)
  if (status !== 'running' || (await here.daemon())) return
  const { rows: runs } = await client.runs()
  if (runs.some(({ state }) => state === 'running')) return
  const isAsking = runs.some(({ waitingFor }) => waitingFor === 'approval' || waitingFor === 'budget')
  here.tell(
    isAsking ? 'it is waiting for your approval    heddle approvals' : 'no process is working on it    heddle up',
  )
}
