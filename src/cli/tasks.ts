import { readFileSync } from 'node:fs'
import { fileTrouble } from '../config/files.ts'
import { Misuse } from '../domain/errors.ts'
import { type TaskChange, type TaskStatus, taskStatuses } from '../domain/plan.ts'
import { type Answer, type Here, type Register, rareGroup } from './cli.ts'
import { editedBrief } from './plan-brief.ts'
import { taskRow } from './plan-page.ts'
import { numberOf } from './plans-number.ts'
import { canAsk, readInput } from './prompt.ts'
import { table } from './screen.ts'

export const registerTasks: Register = (program, run) => {
  const tasks = program
    .command('tasks')
    .helpGroup(rareGroup)
    .description('tasks of plans: list, skip, change')
    .option('--plan <plan>', 'only those of this plan')
    .option('--status <status>', `only those that are ${taskStatuses.join(', ')}`)
    .addHelpText(
      'after',
      '\nExamples: heddle tasks --plan 1 --status failed    heddle retry task:3    heddle cancel task:3',
    )
    .action(
      run(async (here, _args, options) => {
        const status = options['status'] === undefined ? {} : { status: statusFrom(String(options['status'])) }
        const plan = options['plan'] === undefined ? {} : { plan: `plan:${numberOf(String(options['plan']), 'plan')}` }
        const found = await (await here.door()).tasks({ ...plan, ...status })
        const isFiltered = options['status'] !== undefined || options['plan'] !== undefined
        const none = isFiltered
          ? 'no such task    heddle tasks lists all'
          : 'no task yet    heddle ask "…" makes a plan for a job of several parts'
        return { json: { tasks: found }, text: found.length > 0 ? table(here.screen, found.map(taskRow), 3) : none }
      }),
    )

  tasks
    .command('skip <task>')
    .description('go on without it: what needs it no longer waits for it')
    .option('--reason <text>', 'kept with the task and told to whoever asked for it')
    .addHelpText('after', '\nExample: heddle tasks skip task:3 --reason "the folder is gone"')
    .action(
      run((here, [name = ''], options) => {
        const reason = options['reason'] === undefined ? {} : { reason: String(options['reason']) }
        return change(here, numberOf(name, 'task'), { action: 'skip', ...reason }, 'is skipped')
      }),
    )

  tasks
    .command('edit <task>')
    .description('another brief or another agent; without a flag the brief opens in $EDITOR')
    .option('--brief-file <file>', 'the new brief; - reads standard input')
    .option('--agent <name>', 'who shall do it')
    .addHelpText('after', '\nExamples: heddle tasks edit task:3    heddle tasks edit task:3 --agent @writer')
    .action(run((here, [name = ''], options) => edit(here, numberOf(name, 'task'), options)))
}

async function edit(here: Here, id: number, options: Record<string, unknown>): Promise<Answer> {
  const skill = options['agent'] === undefined ? {} : { skill: agentFrom(String(options['agent'])) }
  const file = options['briefFile']
  if (file === undefined && options['agent'] !== undefined)
    return change(here, id, { action: 'edit', ...skill }, `is @${skill.skill}’s now`)
  if (file !== undefined) {
    const context = await briefFrom(here, String(file))
    return change(here, id, { action: 'edit', context, ...skill }, 'has a new brief')
  }
  if (here.json || !canAsk(here))
    throw new Misuse(
      'a brief is edited on a terminal',
      `or: heddle tasks edit task:${id} --brief-file FILE, or --agent NAME`,
    )
  const context = await editedBrief(here, await (await here.door()).task(`task:${id}`))
  if (context === undefined) return { json: { ok: true, id, changed: false }, text: 'nothing was changed' }
  return change(here, id, { action: 'edit', context }, 'has a new brief')
}

async function change(here: Here, id: number, asked: TaskChange, what: string): Promise<Answer> {
  const door = await here.door()
  const changed = await door.changeTask(`task:${id}`, asked)
  const next = changed.status === 'failed' ? `heddle retry task:${id}` : `heddle show task:${id}`
  return { json: { ok: true, ...changed }, text: `task:${id} ${what}    ${next}` }
}

async function briefFrom(here: Here, file: string): Promise<string> {
  let text: string
  try {
    text = file === '-' ? await readInput(here) : readFileSync(here.pathOf(file), 'utf8')
  } catch (error) {
    throw fileTrouble(error, 'brief_unreadable', `Cannot read ${file}`)
  }
  if (text.trim() === '') throw new Misuse('the brief is empty', 'write down everything its agent needs to know')
  return text
}

/** As people write it, with or without its sign. */
export function agentFrom(name: string): string {
  const bare = name.replace(/^@/, '').trim()
  if (bare === '') throw new Misuse('no agent is named', 'name one: heddle agents lists them')
  return bare
}

function statusFrom(value: string): TaskStatus {
  const known = taskStatuses.find((each) => each === value)
  if (!known) throw new Misuse(`"${value}" is no state of a task`, `use --status ${taskStatuses.join(', ')}`)
  return known
}
