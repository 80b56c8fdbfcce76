import { readTalk, refusalIn } from './plan/conversation.ts'
import { answersOrCalls, type ScriptStep, type ScriptView } from './script-view.ts'

/** `delegate to @AGENT [on MODEL] [with SKILL, SKILL]: TASK`. */
export const delegateRequest =
  /^(?:please )?delegate to (@?[\w-]+)(?:\s+on\s+([^\s:]+))?(?:\s+with\s+((?:skill:)?[\w.-]+(?:\s*,\s*(?:skill:)?[\w.-]+)*))?\s*:\s*(.+)$/is

/** Hands a task to an agent of the registry, and says which model and skills it got. */
export function delegateTask(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const [, agentId = '', model, skills, task = ''] = match
  const input = {
    agentId,
    task,
    ...(model !== undefined && { model_override: model }),
    ...(skills !== undefined && { forwardSkills: skills.split(/\s*,\s*/) }),
  }
  const step = answersOrCalls(view, [{ name: 'delegate', input }])
  if ('calls' in step) return step
  const [text = ''] = step.answers
  const why = refusalIn(text)
  if (why !== undefined) return { text: `I could not delegate it: ${why}` }
  return { text: describeStart(agentId, text) }
}

interface DelegateAnswer {
  model?: unknown
  skills?: unknown
  clamped?: { from?: unknown; why?: unknown }
}

function describeStart(agentId: string, answer: string): string {
  const { model, skills, clamped } = readAnswer(answer)
  const name = agentId.startsWith('@') ? agentId : `@${agentId}`
  const instead = clamped ? `, not ${String(clamped.from)}: ${String(clamped.why)}` : ''
  const given = Array.isArray(skills) && skills.length > 0 ? `, with the skills ${skills.join(', ')}` : ''
  return `${name} is working on it. Its model is ${String(model)}${instead}${given}.`
}

function readAnswer(text: string): DelegateAnswer {
  try {
    return JSON.parse(text) as DelegateAnswer
  } catch {
    return {}
  }
}

/** Presents the results of delegated tasks since the last answer, for an agent that works alone; undefined if there are none. */
export function presentResults({ messages }: Pick<ScriptView, 'messages'>): string | undefined {
  const results = readTalk(messages).now.flatMap((item) => (item.kind === 'result' ? [item] : []))
  if (results.length === 0) return undefined
  return results
    .map(({ id, agent = 'agent', status, summary }) =>
      status === 'completed'
        ? `${summary}\n@${agent}, full result: heddle show result:${id}`
        : `@${agent} ${status}: ${summary} result:${id}`,
    )
    .join('\n\n')
}
