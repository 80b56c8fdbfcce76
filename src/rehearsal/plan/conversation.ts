import type { ModelMessage } from '../../domain/model.ts'
import { stripLabel } from '../label.ts'
import { answeredCalls, type ScriptedCall } from '../script-view.ts'

/** A message to the coordinator: from the user, or from the runtime in a fixed format. */
export type TalkItem =
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

export type ResultItem = Extract<TalkItem, { kind: 'result' }>
export type PlanItem = Extract<TalkItem, { kind: 'plan' }>

/** The conversation of a coordinator. */
export interface Talk {
  /** Items of earlier turns. */
  before: TalkItem[]
  /** Items that this turn answers. */
  now: TalkItem[]
  /** Tool calls of this turn, with their answers. */
  made: (ScriptedCall & { text: string })[]
}

/** Parses a conversation. Earlier turns contain only text; a reply with calls belongs to this turn. */
export function readTalk(messages: readonly ModelMessage[]): Talk {
  const end = messages.findLastIndex((message) => message.role === 'assistant' && message.calls.length === 0)
  const items = (some: readonly ModelMessage[]) =>
    some.flatMap(({ role, content }) => (role === 'user' ? parseItems(content) : []))
  return {
    before: items(messages.slice(0, end + 1)),
    now: items(messages.slice(end + 1)),
    made: answeredCalls(messages.slice(end + 1)),
  }
}

const itemStart = /\n(?=\[agent_result:\d+\] (?:task|run):|plan:\d+(?: "|: )|all started agents have ended)/

function parseItems(content: string): TalkItem[] {
  return content.split(itemStart).flatMap((line): TalkItem[] => readLine(line.trim()))
}

function readLine(line: string): TalkItem[] {
  const result =
    /^\[agent_result:(\d+)\] (?:task:(\d+) "(.*?)"|run:\S+(?: @?([\w.-]+))?(?: ".*?")?) +(completed|failed|timeout|cancelled|skipped):? ?(.*)$/s.exec(
      line,
    )
  if (result) {
    const [, id, taskId, title = '', agent, status = '', summary = ''] = result
    const task = taskId === undefined ? {} : { task: { id: Number(taskId), title } }
    const from = agent === undefined ? {} : { agent }
    return [{ kind: 'result', id: Number(id), ...task, ...from, status, summary: stripLabel(summary.trim()) }]
  }
  const plan = /^plan:(\d+)(?: "|: )/.exec(line)
  if (plan) {
    const state = /^plan:\d+ ".*" completed: /s.test(line) ? 'completed' : 'stopped'
    return [{ kind: 'plan', id: Number(plan[1]), state, text: line }]
  }
  if (line.startsWith('all started agents have ended')) return [{ kind: 'join' }]
  return line === '' || line.startsWith('[') ? [] : [{ kind: 'person', text: line }]
}

/** Plan at the end of a planner's summary. */
export function planIn(summary: string): { id: number; tasks: number } | undefined {
  const found = /\[plan:(\d+), (\d+) tasks?\]\s*$/.exec(summary)
  return found ? { id: Number(found[1]), tasks: Number(found[2]) } : undefined
}

/** End of a plan in a call's answer, if the call itself caused it. */
export function planNewsIn(text: string): PlanItem | undefined {
  try {
    const { news } = JSON.parse(text) as { news?: unknown }
    return typeof news === 'string' ? parseItems(news).find((items) => items.kind === 'plan') : undefined
  } catch {
    return undefined
  }
}

/** Error of a refused call; undefined for one that succeeded. */
export function refusalIn(text: string): string | undefined {
  try {
    const { status, error, problems } = JSON.parse(text) as Record<string, unknown>
    if (typeof status !== 'string' || !/^(?:error|forbidden|denied|unknown)$/.test(status)) return undefined
    return typeof error === 'string' ? error : Array.isArray(problems) ? problems.join('; ') : text
  } catch {
    return undefined
  }
}
