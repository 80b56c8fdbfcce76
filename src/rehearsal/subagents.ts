import { stripQuotes } from './find.ts'
import { stripLabel } from './label.ts'
import { notStartedLine } from './not-started.ts'
import { refusalIn } from './plan/conversation.ts'
import { answersOrCalls, type ScriptedCall, type ScriptStep, type ScriptView } from './script-view.ts'
import { formatCount } from './survey/format-count.ts'
import { readMatches, reasonIn } from './tool-texts.ts'

/** `QUESTION Use a sub-agent to research it.`: captures the question. */
export const researchRequest =
  /^(?:please )?(.+?)[\s,.?!]+(?:please )?use a sub-?agent(?: to \w+ (?:it|that|this))?\s*[.!]?$/is

/** `use sub-agents: TASK; TASK; TASK`: captures the tasks. */
export const tasksRequest = /^(?:please )?use (?:\w+ )?sub-?agents?(?: to| for)?:\s*(.+)$/is

/** `Research TOPIC.`, then remarks: captures the topic. */
export const researchTask = /^(?:please )?research\s+(.+?)\s*(?:[.?!](?:\s.*)?)?$/is

const timeoutSeconds = 120
const maxQuotes = 20

/** Starts a sub-agent that researches a question, and says so. An agent that cannot start one is the one that was started. */
export function spawnResearch(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const topic = topicOf(match[1] ?? '')
  if (!view.tools.has('sessions_spawn')) return quoteFiles(view, topic)
  const label = `${subjectOf(topic).toLowerCase().replace(/\s+/g, '-')}-research`
  const task = `Research ${topic}. Look in the files of this folder, and quote them.`
  return spawnStep(view, [{ task, label }], `I'll spawn a sub-agent to research ${topic}.`)
}

/** Starts a sub-agent for each of several tasks, and says so. */
export function spawnTasks(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const work = tasksIn(match).map((task) => ({ task, label: task }))
  return spawnStep(view, work, `I'll spawn ${formatCount(work.length, 'sub-agent')}.`)
}

/** The tasks of a list. */
export function tasksIn([, list = '']: RegExpExecArray): string[] {
  return list.split(/\s*;\s*/).filter((task) => task !== '')
}

function spawnStep(view: ScriptView, work: { task: string; label: string }[], words: string): ScriptStep {
  const calls = work.map(
    (each): ScriptedCall => ({ name: 'sessions_spawn', input: { ...each, timeoutSeconds, cleanup: 'delete' } }),
  )
  const step = answersOrCalls(view, calls)
  if ('calls' in step) return { text: words, calls: step.calls }
  const outcomes = step.answers.map((text, at) => ({ text, task: work[at]?.task, why: refusalIn(text) }))
  const started = outcomes.filter(({ why }) => why === undefined).map(({ text }) => readSpawn(text))
  return {
    text: [
      ...(started.length > 0 ? [describeSpawns(started)] : []),
      ...outcomes.flatMap(({ task, why }) => (why === undefined ? [] : [notStartedLine(task, why)])),
    ].join('\n'),
  }
}

interface SpawnAnswer {
  runId?: unknown
  memoryShareMode?: unknown
}

function readSpawn(text: string): SpawnAnswer {
  try {
    return JSON.parse(text) as SpawnAnswer
  } catch {
    return {}
  }
}

/** The requester is not told of the end of an isolated sub-agent: its result is there to be read. */
function describeSpawns(started: SpawnAnswer[]): string {
  const isOne = started.length === 1
  const spawned = isOne ? "I've spawned a sub-agent." : `I've spawned ${started.length} sub-agents.`
  if (started.every(({ memoryShareMode }) => memoryShareMode !== 'isolated'))
    return `${spawned} I'll let you know when ${isOne ? 'it completes' : 'they complete'}.`
  const look = isOne ? `heddle subagent show ${String(started[0]?.runId)}` : 'heddle subagent history'
  return `${spawned} ${isOne ? 'It works' : 'They work'} isolated: I am not told of the end. Look for yourself: ${look}`
}

/** Quotes what the files of the folder say about a topic. */
export function researchTopic(view: ScriptView, match: RegExpExecArray): ScriptStep {
  return quoteFiles(view, stripQuotes(match[1] ?? ''))
}

function quoteFiles(view: ScriptView, topic: string): ScriptStep {
  const subject = subjectOf(topic)
  const step = answersOrCalls(view, [{ name: 'search_files', input: { pattern: subject } }])
  if ('calls' in step) return step
  const [text = ''] = step.answers
  const found = readMatches(text)
  if (!found) return { text: `I could not search for ${subject}: ${reasonIn(text)}` }
  if (found.matches === 0)
    return { text: [`The files of this folder do not mention ${subject}.`, ...found.notes].join('\n') }
  const shown = found.hits.slice(0, maxQuotes)
  const rest = found.matches - shown.length
  return {
    text: [
      `${subject}: ${formatCount(found.matches, 'line')} in ${formatCount(found.files, 'file')}.`,
      ...shown.map((hit) => `${hit.path}:${hit.line}: ${hit.text.trim()}`),
      ...(rest > 0 ? [`… and ${rest} more`] : []),
      ...found.notes,
    ].join('\n'),
  }
}

/** Presents what sub-agents and jobs have told since the last answer; undefined if they told nothing. */
export function presentAnnouncements({ messages }: Pick<ScriptView, 'messages'>): string | undefined {
  const end = messages.findLastIndex((message) => message.role === 'assistant' && message.calls.length === 0)
  const told = messages
    .slice(end + 1)
    .flatMap(({ role, content }) => (role === 'user' ? (readAnnouncement(content) ?? []) : []))
  const [first] = told
  if (!first) return undefined
  if (told.length > 1) return told.map(({ label, outcome, said }) => `${label}: ${said || outcome}`).join('\n\n')
  const { from, label, outcome, said } = first
  if (outcome !== 'Complete.') return [`The ${from} ${label}: ${outcome}`, said].join('\n').trim()
  if (from === 'job') return [`The job ${label} is complete.`, said].join('\n').trim()
  const opening = label.endsWith('-research') ? 'The research is complete!' : `${label} is complete.`
  return `${opening} Here's what the sub-agent found:\n${said}`
}

interface Announcement {
  from: 'sub-agent' | 'job'
  label: string
  outcome: string
  said: string
}

/** Reads the runtime's message about the end of a sub-agent or of a job; undefined for every other message. */
function readAnnouncement(content: string): Announcement | undefined {
  const [, who, label, outcome] = /^\[(Subagent|Cron): ([^\]]+)\] (.+)$/m.exec(content.split('\n')[0] ?? '') ?? []
  if (label === undefined || outcome === undefined) return undefined
  const boundary = /^(?:\[agent_result:\d+\] run:\w+\. )?Between the two lines (\S+) is/m.exec(content)?.[1]
  const said = boundary === undefined ? '' : (content.split(`\n${boundary}\n`)[1] ?? '').split(`\n${boundary}`)[0]
  return { from: who === 'Cron' ? 'job' : 'sub-agent', label, outcome, said: stripLabel((said ?? '').trim()) }
}

/** The topic of a question: `What's the history of XFS` asks for `the history of XFS`. */
function topicOf(question: string): string {
  return question
    .trim()
    .replace(/^(?:what(?:'s|’s| is| was| are| do we know about)|tell me about|who (?:is|was)|research)\s+/i, '')
}

/** What to search for: `the history of the XFS filesystem` is about `XFS`. */
function subjectOf(topic: string): string {
  const [last = topic] = topic.split(/\b(?:of|about|on)\s+/i).slice(-1)
  return last
    .replace(/^(?:the|an?)\s+/i, '')
    .replace(/\s+file ?system$/i, '')
    .trim()
}
