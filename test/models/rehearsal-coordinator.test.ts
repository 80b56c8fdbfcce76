import { expect, test } from 'vitest'
import type { Agent } from '../../src/domain/agent.ts'
import type { ModelMessage } from '../../src/domain/model.ts'
import { delegatingTools } from '../../src/domain/tools/tool-names.ts'
import { ask, assistant, coordinatorPrompt, made, ourAgents, user } from './scripted-agents.ts'

const request = 'survey this folder and write a report with a summary per part'
const survey = '[agent_result:3] run:7k2f researcher completed: REHEARSAL: surveyed by parts: 2 parts, 5 files.'
const planned = '[agent_result:4] run:7k2m project-planner completed: REHEARSAL: plan:6: 4 tasks. [plan:6, 4 tasks]'
const join = 'all started agents have ended; their results are above'
const waits = { name: 'wait', input: {} }

/** What the coordinator replies, without the names of its calls. */
async function coordinator(messages: ModelMessage[], agents: readonly Agent[] = ourAgents) {
  const { text, calls } = await ask(coordinatorPrompt(agents), delegatingTools, messages)
  return { text, calls: calls.map(({ name, input }) => ({ name, input })) }
}

test.each([
  ['survey this folder', 'researcher'],
  ['find "TODO" in src', 'researcher'],
  ['outline README.md', 'researcher'],
  ['count lines in src/main.ts', 'researcher'],
  ['summarise src', 'researcher'],
  ['write NOTES.md: buy milk', 'writer'],
  ['run npm test', 'tester'],
  ['check every number in REPORT.md', 'code-review'],
])('"%s" goes to one agent, in one request', async (asked, skill) => {
  const reply = await coordinator([user(asked)])
  expect(reply).toEqual({
    text: `REHEARSAL: @${skill} is working on it: ${asked}`,
    calls: [{ name: 'spawn_agent', input: { task: asked, skill } }, waits],
  })
})

test('a command goes to the coder where there is no tester, and to nobody where there is neither', async () => {
  const without = (...names: string[]) => ourAgents.filter(({ name }) => !names.includes(name))
  const { calls } = await coordinator([user('run ls')], without('tester'))
  expect(calls[0]?.input).toEqual({ task: 'run ls', skill: 'coder' })
  expect(await coordinator([user('run ls')], without('tester', 'coder'))).toEqual({
    text: 'REHEARSAL: there is no agent "tester" or "coder" here, and I do nothing myself. Add one: heddle agents new tester',
    calls: [],
  })
})

test('woken with a result it tells the summary and where the rest is', async () => {
  const talk = [user('count files'), assistant('REHEARSAL: @researcher is working on it: count files')]
  const line = '[agent_result:12] run:7k2f researcher completed: REHEARSAL: this folder: 3 files.'
  const told = { text: 'REHEARSAL: this folder: 3 files.\n@researcher, full result: heddle show result:12', calls: [] }
  expect(await coordinator([...talk, user(line), user(join)])).toEqual(told)
  expect(await coordinator([...talk, user(`${line}\n${join}`)])).toEqual(told)
  const failed = '[agent_result:12] run:7k2f researcher timeout: took too long'
  expect((await coordinator([...talk, user(failed)])).text).toBe(
    'REHEARSAL: @researcher timeout: took too long result:12',
  )
})

test('it asks back and fails itself, and refuses the rest in a sentence with the way to a model', async () => {
  expect((await coordinator([user('ask me something')])).text).toMatch(/^REHEARSAL: Which file/)
  await expect(coordinator([user('fail')])).rejects.toMatchObject({ code: 'rehearsed_failure' })
  expect((await coordinator([user('write me a poem')])).text).toMatch(/^REHEARSAL: I am a script .*heddle models add/)
})

test('a report goes from the survey to the planner to the plan, each in one request', async () => {
  const talk = [user(request)]
  const first = await coordinator(talk)
  expect(first.calls).toEqual([
    {
      name: 'spawn_agent',
      input: {
        task: 'survey this folder by parts; leave out REPORT.md',
        skill: 'researcher',
        context: expect.stringContaining(request),
      },
    },
    waits,
  ])
  talk.push(assistant(first.text), user(survey), user(join))
  const second = await coordinator(talk)
  expect(second.calls).toEqual([
    {
      name: 'spawn_agent',
      input: { task: `Plan this: ${request}`, skill: 'project-planner', context: '[agent_result:3]' },
    },
    waits,
  ])
  talk.push(assistant(second.text), user(planned), user(join))
  const third = await coordinator(talk)
  expect(third.calls).toEqual([{ name: 'run_project', input: { project_id: 6 } }, waits])
  for (const { text } of [first, second, third]) expect(text).toMatch(/^REHEARSAL: \S/)
  talk.push(
    assistant(third.text),
    user('count files'),
    assistant('REHEARSAL: @researcher is working on it: count files'),
  )
  talk.push(
    user('[agent_result:7] task:21 "write REPORT.md" completed: REHEARSAL: wrote REPORT.md: 2 parts, 5 files'),
    user('[agent_result:8] task:22 "check every number" completed: REHEARSAL: 9 numbers counted again, 9 agree.'),
    user('plan:6 "REPORT.md" completed: 4 completed'),
  )
  expect(await coordinator(talk)).toEqual({
    text: 'REHEARSAL: wrote REPORT.md: 2 parts, 5 files. result:7\n9 numbers counted again, 9 agree. result:8\nplan:6: 4 completed. Demo script: the numbers and quotes are real, no model was asked.',
    calls: [],
  })
})

test('a person who spoke meanwhile and a result are both heard in one turn', async () => {
  const talk = [user(request), assistant('REHEARSAL: so'), user(survey), user(join), user('count files')]
  const { calls } = await coordinator(talk)
  expect(calls.map(({ name, input }) => [name, (input as { skill?: string }).skill])).toEqual([
    ['spawn_agent', 'project-planner'],
    ['spawn_agent', 'researcher'],
    ['wait', undefined],
  ])
})

test('a no to the plan is answered in the same turn', async () => {
  const talk = [
    user(request),
    assistant('REHEARSAL: so'),
    user(survey),
    user(join),
    assistant('REHEARSAL: so'),
    user(planned),
  ]
  const refused = (error: string) => [
    ...talk,
    ...made([
      { name: 'run_project', input: { project_id: 6 }, answer: { status: 'denied', error } },
      { name: 'wait', input: {}, answer: { status: 'error', error: 'nothing to wait for' } },
    ]),
  ]
  const { calls } = await coordinator(refused('the user said no: drop src/db'))
  expect(calls).toEqual([
    {
      name: 'spawn_agent',
      input: {
        task: `Plan this: ${request}`,
        skill: 'project-planner',
        context: '[agent_result:3]\n\nThe person said no to plan:6: drop src/db',
      },
    },
    waits,
  ])
  expect((await coordinator(refused('the user said no: too dear'))).text).toMatch(/too dear\n.*heddle models add$/)
  expect((await coordinator(refused('the user said no'))).text).toContain('Say what to leave out: drop PART')
  expect((await coordinator(refused('there is no plan:6'))).text).toContain(
    'plan:6 was not started: there is no plan:6',
  )
})

test('an agent that cannot be started is told with the reason', async () => {
  const refused = { status: 'forbidden', error: 'the most that is allowed' }
  const spawned = { name: 'spawn_agent', input: { task: 'count files', skill: 'researcher' }, answer: refused }
  const { text, calls } = await coordinator([user('count files'), ...made([spawned])])
  expect({ text, calls }).toEqual({ text: 'REHEARSAL: Not started: count files: the most that is allowed', calls: [] })
})

test('of several tasks it says which were started and which not, and says it again with the results', async () => {
  const list = user('use sub-agents: count files; find "TODO"')
  const spawns = ['count files', 'find "TODO"'].map((task) => ({
    name: 'spawn_agent',
    input: { task, skill: 'researcher' },
  }))
  expect((await coordinator([list])).calls).toEqual(spawns)
  const answers = [{ status: 'forbidden', error: 'the most that is allowed' }, { status: 'accepted' }]
  const calls = made(spawns.map((spawn, at) => ({ ...spawn, answer: answers[at] })))
  const told = await coordinator([list, ...calls])
  expect(told).toEqual({
    text: 'REHEARSAL: Not started: count files: the most that is allowed\n@researcher is working on it: find "TODO"',
    calls: [],
  })
  const result = '[agent_result:12] run:7k2f researcher completed: REHEARSAL: "TODO": nothing found.'
  expect((await coordinator([list, assistant(told.text), user(result), user(join)])).text.split('\n')).toEqual([
    'REHEARSAL: "TODO": nothing found.',
    '@researcher, full result: heddle show result:12',
    'Still not started: count files: the most that is allowed',
  ])
})

const failure = [
  user('[agent_result:5] task:8 "summarise src/db" failed: Failed: no room left'),
  user(
    'plan:6: task:8 failed; task:9, task:10 are blocked. Decide with task_update: retry (with context or skill), skip or cancel; or ask the user.',
  ),
]

test('a failed task is told with the choices, and nothing is decided', async () => {
  expect(await coordinator([user(request), assistant('REHEARSAL: so'), ...failure])).toEqual({
    text: 'REHEARSAL: task:8 "summarise src/db" failed: Failed: no room left. result:5\nWaiting for it: task:9, task:10\nYou decide: retry task:8 · retry task:8 with: NEW BRIEF · edit task:8 with: NEW BRIEF · skip task:8 · cancel task:8',
    calls: [],
  })
})

test.each([
  ['retry task:8', { id: 8, action: 'retry' }],
  [
    'retry task 8 with: look into src/db again',
    { id: 8, action: 'retry', context: expect.stringMatching(/^look into src\/db again\n./) },
  ],
  ['retry', { id: 8, action: 'retry' }],
  ['skip it', { id: 8, action: 'skip' }],
  ['cancel task:9', { id: 9, action: 'cancel' }],
  ['edit task:9 with: all of it', { id: 9, action: 'edit', context: expect.stringMatching(/^all of it\n./) }],
])('"%s" becomes one change of a task', async (said, input) => {
  const talk = [user(request), assistant('REHEARSAL: so'), ...failure, assistant('REHEARSAL: so'), user(said)]
  expect(await coordinator(talk)).toEqual({ text: '', calls: [{ name: 'task_update', input }] })
  const after = made([{ name: 'task_update', input, answer: { status: 'ok' } }])
  expect((await coordinator([...talk, ...after])).text).toMatch(new RegExp(`^REHEARSAL: task:${input.id} (is|has) `))
  const late = made([{ name: 'task_update', input, answer: { status: 'error', error: 'it runs again' } }])
  expect((await coordinator([...talk, ...late])).text).toBe('REHEARSAL: task_update was refused: it runs again')
})

test('a decision that ends the plan is told with its end', async () => {
  const talk = [user(request), assistant('REHEARSAL: so'), ...failure, assistant('REHEARSAL: so'), user('skip task:8')]
  const answer = { id: 8, status: 'skipped', news: 'plan:6 "REPORT.md" completed: 3 completed, 1 skipped' }
  const { text } = await coordinator([
    ...talk,
    ...made([{ name: 'task_update', input: { id: 8, action: 'skip' }, answer }]),
  ])
  expect(text).toContain('plan:6: 3 completed, 1 skipped. Demo script')
  expect(text).toContain('\ntask:8 is skipped.')
})

test.each([
  ['plan:6: task:8 failed. Decide with task_update: retry', 'retry task:8 ·'],
  ['plan:6: task:8 cancelled; task:9 is blocked. Decide', 'Waiting for it: task:9\n'],
  ['plan:6 "x" has stopped: 1 completed, 2 failed (task:7, task:8), 9 blocked (task:9, …). Decide', 'task:9, …\nYou'],
])('it understands "%s"', async (line, told) => {
  expect((await coordinator([user(request), assistant('REHEARSAL: so'), user(line)])).text).toContain(told)
})

test('a task that is named by its place in the plan is looked up', async () => {
  const talk = [user(request), assistant('REHEARSAL: so'), ...failure, assistant('REHEARSAL: so'), user('skip task 2')]
  expect((await coordinator(talk)).calls).toEqual([{ name: 'task_list', input: { project_id: 6 } }])
  const tasks = [{ id: 10 }, { id: 7 }, { id: 8 }, { id: 9 }]
  const listed = made([{ name: 'task_list', input: { project_id: 6 }, answer: { tasks } }])
  expect((await coordinator([...talk, ...listed])).calls).toEqual([
    { name: 'task_update', input: { id: 8, action: 'skip' } },
  ])
  const few = made([{ name: 'task_list', input: { project_id: 6 }, answer: { tasks: [{ id: 7 }] } }])
  expect((await coordinator([...talk, ...few])).text).toBe('REHEARSAL: there is no task 2; there are: task:7')
})
