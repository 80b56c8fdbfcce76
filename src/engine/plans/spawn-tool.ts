import { z } from 'zod'
import { rankOf } from '../../domain/access/authorize.ts'
import { thinkingLevels } from '../../domain/message.ts'
import { clampRunOptions, type RunOptions } from '../../domain/run-options.ts'
import { cleanups, narrowShareMode, shareModes, subagentTitle } from '../../domain/subagent.ts'
import type { Tool, ToolOutcome } from '../../domain/tools/tool.ts'
import { countLiveChildren } from '../../store/rows/joins.ts'
import type { Tx } from '../../store/store.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { profilesOfAgents } from '../policies/registered-agent.ts'
import { callingRunOf, once } from '../run/calls/calling-run.ts'
import { accessOf } from '../run/sender.ts'
import { beginCalledChild, childModel, findSpawner, stoppingOutcome } from '../run/spawn.ts'
import type { Engine } from '../runtime.ts'
import { tooLongReason } from './brief-size.ts'
import { defaultTarget, type SubagentSettings, subagentTargets } from './subagent-targets.ts'

/** Max seconds of a sub-agent's running time that can be asked for: a day. */
const maxTimeoutSeconds = 86_400

const input = () =>
  z.strictObject({
    task: z.string().trim().min(1).describe('everything the sub-agent needs: it sees only this'),
    label: z.string().max(200).optional().describe('short name for tracking, e.g. "research"'),
    agentId: z.string().min(1).max(64).optional().describe('an agent of agents_list'),
    model: z.string().min(1).max(200).optional().describe('another of the configured models'),
    thinking: z.enum(thinkingLevels).optional(),
    timeoutSeconds: z.int().min(0).max(maxTimeoutSeconds).optional().describe('max running time; 0 = no limit'),
    cleanup: z.enum(cleanups).optional().describe('delete: its transcript is removed once you have read its result'),
    memoryShareMode: z
      .enum(shareModes)
      .optional()
      .describe(
        'isolated: the result is not announced, read it with subagents and read_result; ' +
          'handoff: the result is announced; inherit-readonly: it also sees this conversation',
      ),
  })

/** Tool that starts an agent in a session of its own. Returns at once; the result is announced when the agent has ended. */
export function sessionsSpawn(engine: Engine, settings: SubagentSettings): Tool<z.output<ReturnType<typeof input>>> {
  return defineTool(input, {
    name: 'sessions_spawn',
    startsAgent: true,
    description:
      'Spawns a background sub-agent in an isolated session. Returns at once: tell the user, and end your turn. Its ' +
      'result is announced to you when it is complete; several are announced together. Do not poll.',
    effect: 'transactional',
    action: 'run.spawn',
    async write(transaction, value, call) {
      const tx = transaction as Tx
      const spawner = await findSpawner(tx, call)
      if (!spawner) return stoppingOutcome
      const { parent, parentSession } = spawner
      const agent = (value.agentId ?? defaultTarget).replace(/^@/, '')
      const targets = subagentTargets(engine, parentSession.folder, parent.ceiling, settings)
      const target = targets.find(({ agentId }) => agentId === agent)
      const allowed = targets.filter(({ isAllowed }) => isAllowed).map(({ agentId }) => agentId)
      if (!target) return refused('error', `there is no agent "${agent}"; there are: ${allowed.join(', ')}`)
      if (!target.isAllowed)
        return refused(
          'forbidden',
          `the owner does not allow "${agent}" here; allowed: ${allowed.join(', ') || 'none'}`,
        )
      if (value.model !== undefined && !engine.knowsModel(value.model))
        return refused('error', `there is no model "${value.model}"; leave it out to use the default`)
      const profiles = await once(call, `profile of ${agent}`, () => profilesOfAgents(tx, engine.registry, [agent]))
      const profile = profiles.get(agent)
      const tooLong = tooLongReason(engine, value.task, {
        ...{ agent, folder: parentSession.folder, requestedModel: value.model ?? target.model, profile },
      })
      if (tooLong !== undefined) return refused('error', tooLong)
      const before = await once(call, 'live children', () => countLiveChildren(tx, parentSession.id))
      const working = before + (callingRunOf(call)?.children.length ?? 0)
      if (working >= settings.maxChildren)
        return refused(
          'forbidden',
          `${working} of your sub-agents still work, which is the limit (tools.subagents.maxChildrenPerAgent): end your turn and wait for their results`,
        )

      const shareMode = narrowShareMode(settings.shareMode, value.memoryShareMode)
      const { principal } = await accessOf(tx, parent, parentSession)
      const asked = optionsOf(value, target.model, settings)
      const options = { ...asked, ...clampRunOptions(asked, rankOf(principal), engine.limits.timeoutMs) }
      const title = subagentTitle(value.label ?? '') ?? subagentTitle(value.task) ?? agent
      const wish = { agent, requested: options.model ?? null, allow: parent.ceiling.models, profile }
      const model = await childModel(tx, engine, parentSession, wish)
      const head = shareMode === 'inherit-readonly' ? parentSession.headTurnId : null
      const { runId, session } = await beginCalledChild(tx, engine, spawner, {
        ...{ content: value.task, via: 'sessions_spawn', agent, options, call },
        subagent: { title, cleanup: value.cleanup ?? 'keep', shareMode },
        ...(head !== null && { parentTurnId: head }),
      })
      return {
        status: 'ok',
        output: {
          status: 'accepted',
          runId,
          sessionKey: session.label,
          ...model,
          ...(options.thinking && { thinking: options.thinking.level }),
          memoryShareMode: shareMode,
        },
      }
    },
  })
}

/** What is asked for, else what the owner configured for sub-agents. */
function optionsOf(
  { model, thinking, timeoutSeconds }: z.output<ReturnType<typeof input>>,
  targetModel: string | null,
  settings: SubagentSettings,
): RunOptions {
  const level = thinking ?? settings.thinking
  const name = model ?? targetModel
  return {
    ...(name !== null && { model: name }),
    ...(level && { thinking: { level } }),
    ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
  }
}

function refused(status: 'forbidden' | 'error', error: string): ToolOutcome {
  return { status, output: { status, error } }
}
