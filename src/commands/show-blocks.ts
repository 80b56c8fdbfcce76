import type { OutcomeBlock } from '../api/commands.ts'
import type { ShowResult } from '../api/turns.ts'
import { shortId } from '../domain/id.ts'
import type { Message } from '../domain/message.ts'
import type { ModelClamp } from '../domain/run.ts'
import { approvalBlocks } from './approvals.ts'
import { factsBlock } from './outcome.ts'

/** Output of /show: facts, then texts. `heddle show` and `heddle why` print more. */
export function blocksFor(shown: ShowResult): OutcomeBlock[] {
  switch (shown.kind) {
    case 'turn':
      return [
        factsBlock({
          turn: `turn:${shown.id}`,
          status: shown.type === 'compaction' ? `${shown.status}, compaction` : shown.status,
          sessions: shown.sessions.join(', '),
          model: shown.model.actual ?? shown.model.requested,
          instead: insteadOf(shown.model),
          trust: shown.label.integrity === 'untrusted' ? `untrusted: ${shown.label.sources.join(', ')}` : undefined,
          run: `run:${shortId(shown.runId)}`,
          calls: shown.toolCalls.map(({ name }) => name).join(', '),
          at: shown.timestamp,
        }),
        ...[...shown.query, shown.response].flatMap(messageBlocks),
      ]
    case 'run':
      return [
        factsBlock({
          run: `run:${shown.id}`,
          state: shown.state,
          doing: shown.doing,
          asked: shown.asked,
          agent: shown.agent && `@${shown.agent}`,
          session: shown.session,
          profile: shown.profile && `${shown.profile.id}, version ${shown.profile.version}`,
          model: shown.model.actual ?? shown.model.requested,
          instead: insteadOf(shown.model),
          skills: shown.ceiling.skills?.join(', '),
          tokens: shown.tokens,
          turn: shown.turnId === null ? undefined : `turn:${shortId(shown.turnId)}`,
          files: shown.files.map(({ path }) => path).join(', '),
          error: shown.error && `${shown.error.message}; ${shown.error.remedy}`,
          began: shown.createdAt,
        }),
      ]
    case 'approval':
      return approvalBlocks(shown)
    case 'result':
      return [
        factsBlock({ result: `result:${shown.id}`, status: shown.status, agent: shown.skillUsed, at: shown.createdAt }),
        quote(shown.output),
      ]
    case 'plan':
      return [
        factsBlock({
          plan: `plan:${shown.id} ${shown.title}`,
          status: shown.status,
          goal: shown.goal,
          approval: shown.approvalId === undefined ? undefined : `approval:${shown.approvalId}`,
          at: shown.createdAt,
        }),
        {
          kind: 'table',
          columns: ['task', 'status', 'agent', 'title'],
          rows: shown.tasks.map(({ id, status, skill, title }) => [`task:${id}`, status, `@${skill}`, title]),
          wide: 'title',
        },
      ]
    case 'task':
      return [
        factsBlock({
          task: `task:${shown.id} ${shown.title}`,
          status: shown.status,
          plan: `plan:${shown.planId} ${shown.plan}`,
          agent: `@${shown.skill}`,
          summary: shown.summary,
          reason: shown.reason,
        }),
        quote(shown.context),
      ]
    case 'memory':
      return [
        factsBlock({
          memory: `memory:${shown.id}`,
          trust: shown.trusted ? 'trusted' : 'untrusted',
          tags: shown.tags.join(', '),
          at: shown.createdAt,
        }),
        quote(shown.content),
      ]
    case 'narrative':
      return [
        factsBlock({ narrative: `narrative:${shown.id}`, folder: shown.folder, at: shown.createdAt }),
        quote(shown.summary),
      ]
    case 'session':
      return [
        factsBlock({
          session: shown.label,
          folder: shown.folder,
          turns: shown.depth,
          head: shown.headTurnId === null ? undefined : `turn:${shortId(shown.headTurnId)}`,
          persona: shown.persona,
          prompt: shown.ownSystemPrompt,
          used: shown.updatedAt,
        }),
      ]
    case 'persona':
      return [
        factsBlock({
          persona: `persona:${shown.id}`,
          name: shown.identity.name,
          allow: shown.permissions.tools.allow?.join(', ') ?? 'every tool',
          deny: shown.permissions.tools.deny?.join(', '),
          model: shown.defaultModelConfig?.model,
        }),
        quote(shown.identity.soul),
      ]
  }
}

/** Which model was not used, and why. */
function insteadOf({ clamped }: { clamped?: ModelClamp }): string | undefined {
  return clamped && `of ${clamped.from}: ${clamped.why}`
}

function messageBlocks({ role, content }: Message): OutcomeBlock[] {
  return [{ kind: 'text', text: role }, quote(content)]
}

function quote(text: string): OutcomeBlock {
  return { kind: 'quote', text }
}
