import { expect, onTestFinished, test } from 'vitest'
import { describeRehearsal, rehearsalPieces } from '../../src/rehearsal/rehearsal.ts'
import { newFolder } from '../tools/folder.ts'
import { agentNamed, ask, made, Troupe, user, workerPrompt } from './scripted-agents.ts'

const request = 'survey this folder and write a report with a summary per part'

const research = `[agent_result:3] @researcher completed:
REHEARSAL: surveyed by parts: 2 parts, 5 files.

- src/api: 3 files (ts 3)
- files directly in src: 2 files (ts 1, md 1)
not looked at: 4 more entries
left out: docs/R.md
[end of agent_result:3]`

test('the planner makes each part a task with a brief of its own', async () => {
  const planner = agentNamed('project-planner')
  const order = user(`Plan this: ${request} into docs/R.md, let task 2 fail, let task 9 fail\n\n## Brief\n${research}`)
  const { calls, text } = await ask(workerPrompt(planner), planner.tools, [order])
  expect({ text, names: calls.map(({ name }) => name) }).toEqual({ text: '', names: ['plan_tasks'] })
  const [call] = calls
  if (!call) throw new Error('nothing was planned')
  const { project, tasks } = call.input as {
    project: Record<string, unknown>
    tasks: { key: string; title: string; context: string; skill: string; depends_on: string[] }[]
  }
  expect(project).toEqual({ title: 'docs/R.md by 2 parts', goal: expect.stringContaining(request) })
  expect(tasks.map(({ context, ...task }) => task)).toEqual([
    { key: 'part-1', title: 'summarise src/api', skill: 'researcher', depends_on: [] },
    { key: 'part-2', title: 'summarise files directly in src', skill: 'researcher', depends_on: [] },
    { key: 'report', title: 'write docs/R.md', skill: 'writer', depends_on: ['part-1', 'part-2'] },
    { key: 'check', title: 'check every number', skill: 'code-review', depends_on: ['report'] },
  ])
  const [api = '', flat = '', writing = '', checking = ''] = tasks.map(({ context }) => context)
  expect(api).toContain('Path: src/api (with everything below it)\nSeen by the survey: 3 files (ts 3)\n')
  expect(flat).toMatch(/\nFail on request: .*$/)
  expect(api).not.toContain('Fail on request')
  expect(writing).toContain('- src/api\n- files directly in src\nSay also: not looked at: 4 more entries\n')
  expect(checking).toContain('Report: docs/R.md\n')
  const answered = async (answer: unknown) =>
    (await ask(workerPrompt(planner), planner.tools, [order, ...made([{ ...call, answer }])])).text
  expect(
    await answered({
      project_id: 2,
      tasks: [
        { key: 'part-1', id: 5 },
        { key: 'part-2', id: 6 },
      ],
    }),
  ).toMatch(
    /^REHEARSAL: plan:2: 4 tasks for 2 parts\.\n\ntask:5 summarise src\/api @researcher\n[\s\S]*task:6 is to fail on request\nthere is no task 9 that could fail$/,
  )
  expect(await answered({ status: 'error', problems: ['one', 'two'] })).toBe(
    'REHEARSAL: I made no plan, plan_tasks refused it: one; two',
  )
})

test('a plan that the user said no to keeps its number', async () => {
  const planner = agentNamed('project-planner')
  const brief = `${research}\n\nThe person said no to plan:6: drop part 1`
  const { calls } = await ask(workerPrompt(planner), planner.tools, [user(`Plan this: x\n\n## Brief\n${brief}`)])
  expect(calls[0]?.input).toMatchObject({ project: { id: 6 }, tasks: [{ key: 'part-2' }, {}, {}] })
})

test('the writer takes everything from the results before it, and names what is missing', async () => {
  const writer = agentNamed('writer')
  const message = `write R.md

## Brief
Parts, in this order:
- b
- a
- c

## Results of the tasks before
### [agent_result:12] @researcher "summarise a" completed
REHEARSAL: a: 2 files, 31 lines, 1 export, 4 TODO (first a/x.ts:88).

a/x.ts:88: // TODO price
a/y.ts: 1
… [cut: 9 more characters; continue with read_result id=12 offset=99]

### "summarise d" was skipped

### [agent_result:13] @researcher "summarise b" timeout
b: 9 files, 9 lines, 9 exports, 9 TODO.`
  const { calls } = await ask(workerPrompt(writer), writer.tools, [user(message)])
  expect(calls.map(({ name, input }) => ({ name, input }))).toEqual([
    {
      name: 'write_file',
      input: {
        path: 'R.md',
        content: `# Report

1 part: 2 files, 31 lines, 1 export, 4 TODO.
Missing: b
Missing: c
Missing: d

## b

- its task ended as timeout, so nothing of it is counted here: b: 9 files, 9 lines, 9 exports, 9 TODO. result:13

## a

- a: 2 files, 31 lines, 1 export, 4 TODO (first a/x.ts:88). result:12
- a/x.ts:88: // TODO price
- the result was longer, and is cut here

## c

- there is no result of its task, so nothing of it is counted here

## d

- its task was skipped, so nothing of it is counted here

REHEARSAL: written by a script from result:12, result:13. It counts and quotes; it does not judge.
`,
      },
    },
  ])
  const answered = async (answer: unknown) =>
    (
      await ask(workerPrompt(writer), writer.tools, [
        user(message),
        ...made([{ name: 'write_file', input: calls[0]?.input, answer }]),
      ])
    ).text
  expect(await answered({ status: 'ok', path: 'R.md', sha256: 'x' })).toMatch(
    /^REHEARSAL: wrote R\.md: 1 part, 2 files, .* Missing: b, c, d\.\n\nFiles:\nR\.md$/,
  )
  expect(await answered({ status: 'denied', error: 'the user said no' })).toBe(
    'REHEARSAL: I did not write R.md: the user said no',
  )
})

test('an agent that is spoken to by name does what is in the repertoire, as far as its tools reach', async () => {
  const folder = newFolder({ 'src/a.ts': 'one\ntwo\n' })
  onTestFinished(() => folder.remove())
  const work = (name: string, said: string) => new Troupe(folder).work(agentNamed(name), said)
  expect(await work('researcher', '@researcher count lines in src/a.ts')).toBe('REHEARSAL: src/a.ts: 2 lines.')
  expect(await work('researcher', 'find one')).toBe('REHEARSAL: "one": 1 in 1 file.\n\nsrc/a.ts:1: one')
  expect(await work('researcher', 'write a.md: x')).toBe('REHEARSAL: I cannot write here: there is no write_file.')
  expect(await work('writer', 'write a.md')).toMatch(/^REHEARSAL: I did not write a\.md: there are no results/)
})

test('an agent whose work needs a model shows its tools and the files of its brief that it read', async () => {
  const folder = newFolder({ 'docs/plan.md': 'one\ntwo\n' })
  onTestFinished(() => folder.remove())
  const agent = { ...agentNamed('researcher'), name: 'changelog', tools: ['read_file', 'search_files'] }
  const text = await new Troupe(folder).work(
    agent,
    'say what 1.4.0 brings\n\n## Brief\nRead docs/plan.md and old.md, then tell.\nNo more.',
  )
  expect(
    text,
  ).toBe(`REHEARSAL: I am a script and cannot do this work of @changelog; a real model can: heddle models add.

@changelog was started with the tools read_file, search_files.
Its brief has 2 lines.
docs/plan.md: 2 lines
old.md: not read: there is no old.md`)
})

test('what it can do is published, with how to ask for it', () => {
  const examples = rehearsalPieces().map(({ example }) => example)
  expect(examples).toEqual(expect.arrayContaining(['survey and report per part', 'check every number in REPORT.md']))
  for (const example of examples) expect(describeRehearsal()).toContain(example)
})

test('nothing is promised about sub-agents of whose end nobody is told', async () => {
  const task = { task: 'find "TODO"', label: 'find "TODO"', timeoutSeconds: 120, cleanup: 'delete' }
  const spawned = (memoryShareMode: string) =>
    made([{ name: 'sessions_spawn', input: task, answer: { status: 'accepted', runId: '7k2f', memoryShareMode } }])
  const said = async (mode: string) =>
    (await ask('', ['sessions_spawn'], [user('use sub-agents: find "TODO"'), ...spawned(mode)])).text
  expect(await said('handoff')).toBe("REHEARSAL: I've spawned a sub-agent. I'll let you know when it completes.")
  expect(await said('isolated')).toBe(
    "REHEARSAL: I've spawned a sub-agent. It works isolated: I am not told of the end. Look for yourself: heddle subagent show 7k2f",
  )
})
