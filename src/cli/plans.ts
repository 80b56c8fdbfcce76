import { HeddleError } from '../domain/errors.ts'
import type { PlanLine, PlanView } from '../domain/plan-views.ts'
import type { Door } from '../gateway/api.ts'
import type { Answer, Here, Register } from './cli.ts'
import { drawPlan } from './plan-graph.ts'
import { nextForPlan } from './plan-page.ts'
import { watchPlan } from './plan-watching.ts'
import { numberOf } from './plans-number.ts'
import { ago, printable, table } from './screen.ts'

export const registerPlans: Register = (program, run) => {
  program
    .command('plans [plan]')
    .alias('projects')
    .helpGroup('SET UP')
    .description('what was planned in this folder, and how far it is')
    .option('-a, --all', 'of every folder')
    .option('-w, --watch', 'follow one as it is carried out, until it ends; Ctrl-C leaves, the plan goes on')
    .addHelpText(
      'after',
      [
        '\nWith -w and no plan: the one that is under way here, or waits for your word.',
        'Examples: heddle plans -w    heddle plans plan:2    heddle show plan:2    heddle cancel plan:2',
      ].join('\n'),
    )
    .action(
      run(async (here, [name], options) => {
        const door = await here.door()
        if (options['watch'] === true) return watch(here, door, name, options['all'] === true)
        if (name !== undefined) return show(here, await door.plan(`plan:${numberOf(name, 'plan')}`))
        const plans = await door.plans(options['all'] === true ? {} : { folder: here.folder })
        return { json: { plans }, text: listOf(here, plans, options['all'] === true) }
      }),
    )
}

function listOf(here: Here, plans: PlanLine[], all: boolean): string {
  if (plans.length === 0)
    return `no plan${all ? '' : ' in this folder'} yet    heddle ask "…" makes one${all ? '' : ', heddle plans --all'}`
  const rows = plans.map((plan) => [
    `plan:${plan.id}`,
    plan.status,
    counted(plan),
    printable(plan.title),
    printable(plan.session ?? '–'),
    ago(plan.finishedAt ?? plan.createdAt, here.clock.now()),
  ])
  return table(here.screen, rows, 3)
}

/** `7 of 12, 1 failed`. */
function counted({ counts }: PlanLine): string {
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const others = (['failed', 'cancelled', 'blocked'] as const).filter((status) => counts[status])
  return [`${counts.completed ?? 0} of ${all}`, ...others.map((status) => `${counts[status]} ${status}`)].join(', ')
}

async function show(here: Here, plan: PlanView): Promise<Answer> {
  const next = nextForPlan(plan)
  const lines = drawPlan(plan, { ...here.screen, rows: Number.POSITIVE_INFINITY })
  return { json: plan, text: [...lines, ...(next === null ? [] : [next])].join('\n') }
}

async function watch(here: Here, door: Door, name: string | undefined, all: boolean): Promise<Answer> {
  const id = name === undefined ? await busiest(here, door, all) : numberOf(name, 'plan')
  const { agents } = await (await import('./set-up.ts')).load(here)
  // One document on stdout, and nothing else.
  const output = here.json ? here.io.stderr : here.io.stdout
  const screen = here.json ? { ...here.screen, isTerminal: false, color: false } : here.screen
  await tellIfNobodyWorks(here, door, id)
  const { app, clock, stopped: signal } = here
  const plan = await watchPlan({ app, clock, screen, signal, output, most: agents.maxConcurrent }, door, id)
  const next = nextForPlan(plan)
  const ended = { completed: 0, failed: 1, cancelled: 130, running: 130, proposed: 130 }[plan.status]
  return { json: plan, text: next === null ? '' : `plan:${id} ${said[plan.status]}    ${next}`, code: ended }
}

const said = {
  completed: 'is done',
  failed: 'has stopped',
  cancelled: 'is cancelled',
  running: 'goes on',
  proposed: 'waits for its start',
}

/** The newest that is under way, else the newest that waits for its start. */
async function busiest(here: Here, door: Door, all: boolean): Promise<number> {
  const plans = await door.plans(all ? {} : { folder: here.folder })
  const found = plans.find(({ status }) => status === 'running') ?? plans.find(({ status }) => status === 'proposed')
  if (found) return found.id
  const [last] = plans
  throw new HeddleError(
    'nothing_to_watch',
    `no plan is under way${all ? '' : ' in this folder'}`,
    last ? `look at the last one: heddle plans plan:${last.id}` : 'heddle ask "…" makes one for a job of several parts',
  )
}

async function tellIfNobodyWorks(here: Here, door: Door, id: number): Promise<void> {
  const { status } = await door.plan(`plan:${id}`)
  if (status !== 'running' || (await here.daemon())) return
  const runs = await door.runs()
  if (runs.some(({ state }) => state === 'running')) return
  const isAsking = runs.some(({ waitingFor }) => waitingFor === 'approval')
  here.tell(isAsking ? 'it waits for your word    heddle approvals' : 'nobody is at work on it    heddle up')
}
