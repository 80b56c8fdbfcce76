import type { SubagentLine } from '../../api/subagents.ts'
import type { Millis } from '../../domain/clock.ts'
import { shortId } from '../../domain/id.ts'
import { type Register, rareGroup } from '../command.ts'
import { moreLine, pageOptions, readPages } from '../input/pages.ts'
import { formatAge, printable, table } from '../terminal/screen.ts'

const cancelTimeout: Millis = 5000
const shownHistory = 20

/** Agents that other agents started with `sessions_spawn`. */
export const registerSubagent: Register = (program, run) => {
  const list = run(async (here) => {
    const client = await here.client()
    const { rows: subagents } = await readPages((page) => client.subagents(page), { limit: 0, newest: 'first' })
    const none = 'no sub-agents are running    heddle subagent history'
    const rows = subagents.map((each) => row(each, here.clock.now()))
    return { json: { subagents }, text: rows.length > 0 ? table(here.screen, rows, 4) : none }
  })
  const subagent = program
    .command('subagent')
    .helpGroup(rareGroup)
    .description('sub-agents: agents that other agents started in the background')
    .addHelpText('after', '\nExamples: heddle subagent show 4c1e07    heddle subagent history --limit 10')
    .action(list)
  subagent.command('list').alias('ls').description('running sub-agents').action(list)
  subagent
    .command('history')
    .description('recent sub-agents, including finished ones')
    .option('--limit <n>', `at most n; 0 for all (default: ${shownHistory})`)
    .option('--after <cursor>', 'continue with those older than this cursor, the `next` of an earlier page')
    .action(
      run(async (here, _args, options) => {
        const client = await here.client()
        const { rows: subagents, ...more } = await readPages((page) => client.subagents({ all: true, ...page }), {
          ...pageOptions(options, shownHistory, 'sub-agents'),
          newest: 'first',
        })
        const rows = subagents.map((each) => row(each, here.clock.now()))
        const text =
          rows.length > 0
            ? [table(here.screen, rows, 4), ...moreLine(more, 'heddle subagent history')].join('\n')
            : 'no sub-agents yet    heddle ask "@general use a sub-agent to …"'
        return { json: { subagents, ...more }, text }
      }),
    )
  subagent
    .command('show <runId>')
    .description('one of them, with its task and its result')
    .action(
      run(async (here, [runId = '']) => {
        const found = await (await here.client()).subagent(runId)
        const facts: [string, string | undefined][] = [
          ['label', found.label],
          ['status', statusWords(found)],
          ['started', formatAge(found.startedAt, here.clock.now())],
          ['model', found.model ?? undefined],
          ['session', found.sessionKey],
          ['asked by', found.requesterKey ?? 'a session that is gone'],
          ['task', found.task],
          ['error', found.error],
          ['result', found.resultId === undefined ? undefined : `result:${found.resultId}`],
        ]
        const rows = facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, printable(value)]]))
        const result = found.result === undefined ? [] : ['', printable(found.result, { lines: true })]
        return { json: found, text: [table(here.screen, rows, 1), ...result].join('\n') }
      }),
    )
  subagent
    .command('cancel <runId>')
    .description('stop one, with all that it started')
    .action(
      run(async (here, [runId = '']) => {
        const client = await here.client()
        const { lastRunId: id } = await client.subagent(runId)
        let now = await client.cancel(`run:${id}`, 'cancelled by the user')
        const deadline = here.clock.monotonic() + cancelTimeout
        while (now.state === 'running' && here.clock.monotonic() < deadline) {
          await here.clock.sleep(100)
          now = await client.cancel(`run:${id}`, 'cancelled by the user')
        }
        return { json: { ok: true, ...now }, text: `run:${shortId(now.id)} is ${now.state}` }
      }),
    )
}

function statusWords({ status, durationMs }: Pick<SubagentLine, 'status' | 'durationMs'>): string {
  return durationMs === undefined ? status : `${status} after ${Math.round(durationMs / 1000)}s`
}

function row(line: SubagentLine, now: Millis): string[] {
  return [
    `run:${shortId(line.runId)}`,
    statusWords(line),
    printable(line.label),
    printable(line.requesterKey ?? '–'),
    printable(line.task),
    formatAge(line.startedAt, now),
  ]
}
