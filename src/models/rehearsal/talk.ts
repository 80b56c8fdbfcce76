import type { ModelMessage } from '../../domain/model.ts'
import { unlabelled } from './label.ts'
import { answeredIn, type Call } from './seen.ts'

/** What a coordinator hears: a person, or the runtime in lines of a fixed form. */
export type Heard =
  | { kind: 'person'; text: string }
  | {
      kind: 'result'
      id: number
      task?: { id: number; title: string }
      agent?: string
      status: string
      summary: string
    }
  | { kind: 'plan'; id: number; state: 'completed' | 'stopped'; text: string }
  | { kind: 'join' }

export type HeardResult = Extract<Heard, { kind: 'result' }>
export type HeardPlan = Extract<Heard, { kind: 'plan' }>

/** A conversation as a coordinator is shown it. */
export interface Talk {
  /** Of the turns before. */
  before: Heard[]
  /** What this turn is to answer. */
  now: Heard[]
  /** Calls of this turn, with their answers. */
  made: (Call & { text: string })[]
}

/** Turns before show only what was said; a reply with calls belongs to this one. */
export function readTalk(messages: readonly ModelMessage[]): Talk {
  const end = messages.findLastIndex((message) => message.role === 'assistant' && message.calls.length === 0)
  const heard = (some: readonly ModelMessage[]) =>
    some.flatMap(({ role, content }) => (role === 'user' ? readHeard(content) : []))
  return {
    before: heard(messages.slice(0, end + 1)),
    now: heard(messages.slice(end + 1)),
    made: answeredIn(messages.slice(end + 1)),
  }
}

const lineBegins = /\n(?=\[agent_result:\d+\] (?:task|run):|plan:\d+(?: "|: )|every agent that was started has ended)/

function readHeard(content: string): Heard[] {
  return content.split(lineBegins).flatMap((line): Heard[] => readLine(line.trim()))
}

function readLine(line: string): Heard[] {
  const result =
    /^\[agent_result:(\d+)\] (?:task:(\d+) "(.*?)"|run:\S+(?: @?([\w.-]+))?(?: ".*?")?) +(completed|failed|timeout|cancelled|skipped):? ?(.*)$/s.exec(
      line,
    )
  if (result) {
    const [, id, taskId, title = '', agent, status = '', summary = ''] = result
    const task = taskId === undefined ? {} : { task: { id: Number(taskId), title } }
    const from = agent === undefined ? {} : { agent }
    return [{ kind: 'result', id: Number(id), ...task, ...from, status, summary: unlabelled(summary.trim()) }]
  }
  const plan = /^plan:(\d+)(?: "|: )/.exec(line)
  if (plan) {
    const state = /^plan:\d+ ".*" completed: /s.test(line) ? 'completed' : 'stopped'
    return [{ kind: 'plan', id: Number(plan[1]), state, text: line }]
  }
  if (line.startsWith('every agent that was started has ended')) return [{ kind: 'join' }]
  return line === '' || line.startsWith('[') ? [] : [{ kind: 'person', text: line }]
}

/** The plan that a planner's line ends with. */
export function planIn(summary: string): { id: number; tasks: number } | undefined {
  const found = /\[plan:(\d+), (\d+) tasks?\]\s*$/.exec(summary)
  return found ? { id: Number(found[1]), tasks: Number(found[2]) } : undefined
}

/** The end of a plan that a call's answer tells, where the call itself brought it about. */
export function newsIn(text: string): HeardPlan | undefined {
  try {
    const { news } = JSON.parse(text) as { news?: unknown }
    return typeof news === 'string' ? readHeard(news).find((heard) => heard.kind === 'plan') : undefined
  } catch {
    return undefined
  }
}

/** What a call that was not done says; undefined for one that was. */
export function refusalIn(text: string): string | undefined {
  try {
    const { status, error, problems } = JSON.parse(text) as Record<string, unknown>
    if (typeof status !== 'string' || !/^(?:error|forbidden|denied|unknown)$/.test(status)) return undefined
    return typeof error === 'string' ? error : Array.isArray(problems) ? problems.join('; ') : text
  } catch {
    return undefined
  }
}
