import { readFileSync } from 'node:fs'
import { toFileError } from '../../config/files.ts'
import { UsageError } from '../../domain/errors.ts'
import { type TaskChange, type TaskStatus, taskStatuses } from '../../domain/plan.ts'
import { editedBrief } from '../approvals/plan-brief.ts'
import { type CommandContext, type CommandResult, type Register, rareGroup } from '../command.ts'
import { taskRow } from '../pages/plan-page.ts'
import { canAsk, readInput } from '../terminal/prompt.ts'
import { table } from '../terminal/screen.ts'
import { numberOf } from './plan-number.ts'

export const registerTasks: Register = (program, run) => {
  const tasks = program
    .command('tasks')
    .helpGroup(rareGroup)
    .description('tasks of plans: list, skip, change')
    .option('--plan <plan>', 'only those of this plan')
    .option('--status <status>', `only those that are ${taskStatuses.join(', ')}`)
    .addHelpText(
      'after',
      '\nExamples: heddle tasks --plan 1 --status failed\n          heddle retry task:3    heddle cancel task:3',
    )
    .action(
      run(async (here, _args, options) => {
        const status = options['status'] === undefined ? {} : { status: statusFrom(String(options['status'])) }
        const plan = options['plan'] === undefined ? {} : { plan: `plan:${numberOf(String(options['plan']), 'plan')}` }
        const found = await (await here.client()).tasks({ ...plan, ...status })
        const isFiltered = options['status'] !== undefined || options['plan'] !== undefined
        const none = isFiltered
          ? 'no such task    heddle tasks lists all'
          : 'no task yet    heddle ask "…" makes a plan for work with several parts'
        return { json: { tasks: found }, text: found.length > 0 ? table(here.screen, found.map(taskRow), 3) : none }
      }),
    )

  tasks
    .command('skip <task>')
    .description('skip a task; tasks that depend on it continue')
    .option('--reason <text>', 'stored with the task')
    .addHelpText('after', '\nExample: heddle tasks skip task:3 --reason "the folder is gone"')
    .action(
      run((here, [name = ''], options) => {
        const reason = options['reason'] === undefined ? {} : { reason: String(options['reason']) }
        return change(here, numberOf(name, 'task'), { action: 'skip', ...reason }, 'is skipped')
      }),
    )

  tasks
    .command('edit <task>')
    .description('change its brief or its agent; without a flag the brief opens in $EDITOR')
    .option('--brief-file <file>', 'the new brief; - reads standard input')
    .option('--agent <name>', 'the agent that does it')
    .addHelpText('after', '\nExamples: heddle tasks edit task:3    heddle tasks edit task:3 --agent @writer')
    .action(run((here, [name = ''], options) => edit(here, numberOf(name, 'task'), options)))
}

async function edit(here: CommandContext, id: number, options: Record<string, unknown>): Promise<CommandResult> {
  const skill = options['agent'] === undefined ? {} : { skill: agentFrom(String(options['agent'])) }
  const file = options['briefFile']
  if (file === undefined && options['agent'] !== undefined)
    return change(here, id, { action: 'edit', ...skill }, `now belongs to @${skill.skill}`)
  if (file !== undefined) {
    const context = await briefFrom(here, String(file))
    return change(here, id, { action: 'edit', context, ...skill }, 'has a new brief')
  }
  if (here.json || !canAsk(here))
    throw new UsageError(
      'editing a brief needs a terminal',
      `or: heddle tasks edit task:${id} --brief-file FILE, or --agent NAME`,
    )
  const task = await (await here.client()).task(`task:${id}`)
  const context = await editedBrief(here, task)
  if (context === undefined) return { json: { ok: true, id, changed: false }, text: 'nothing was changed' }
  return change(here, id, { action: 'edit', context, expectedBrief: task.briefHash }, 'has a new brief')
}

async function change(here: CommandContext, id: number, request: TaskChange, what: string): Promise<CommandResult> {
  const client = await here.client()
  const changed = await client.changeTask(`task:${id}`, request)
  const next = changed.status === 'failed' ? `heddle retry task:${id}` : `heddle show task:${id}`
  return { json: { ok: true, ...changed }, text: `task:${id} ${what}    ${next}` }
}

async function briefFrom(here: CommandContext, file: string): Promise<string> {
  let text: string
  try {
    text = file === '-' ? await readInput(here) : readFileSync(here.pathOf(file), 'utf8')
  } catch (error) {
    throw toFileError(error, 'brief_unreadable', `cannot read ${file}`)
  }
  if (text.trim() === '') throw new UsageError('the brief is empty', 'write everything its agent needs to know')
  return text
}

/** Name of an agent, with or without `@`. */
export function agentFrom(name: string): string {
  const bare = name.replace(/^@/, '').trim()
  if (bare === '') throw new UsageError('no agent given', 'heddle agents lists them')
  return bare
}

function statusFrom(value: string): TaskStatus {
  const known = taskStatuses.find((each) => each === value)
  if (!known) throw new UsageError(`"${value}" is not a task status`, `use --status ${taskStatuses.join(', ')}`)
  return known
}
