import { listAgents } from '../../domain/profiles/agent-index.ts'
import { type PromptParts, seesAgents, systemPrompt } from '../../engine/model/prompt.ts'
import { agentsWithin } from '../../engine/model/role.ts'
import { readSubagentBrief } from '../../engine/run/subagent-brief.ts'
import type { AgentIndex, Engine, Runtime } from '../../engine/runtime.ts'

const defaultPromptBytes = 4000

/** System prompts of runs, and the estimated size of the next one. */
export function prompts(
  { store, markSecrets = (value) => value }: Pick<Runtime, 'store' | 'markSecrets'>,
  identityFiles: () => Promise<PromptParts['files']>,
  agents: AgentIndex,
): Pick<Engine, 'prompt' | 'promptBytes'> {
  /** Size of the last prompt, by agent. */
  const bytes = new Map<string, number>()
  return {
    async prompt(claimed) {
      const { run, session, actor, threadPrompt } = claimed
      const { role, persona, access, policies, profilePrompt } = actor
      const files = markSecrets(await identityFiles())
      const subagent = run.subagent ? await store.read((rows) => readSubagentBrief(rows, claimed)) : undefined
      const shown = { role, isChild: run.depth > 0, tools: run.effectiveTools }
      const text = systemPrompt({
        ...shown,
        identity: persona?.identity ?? null,
        isPrivate: access.isPrivate,
        files,
        profilePrompt,
        threadPrompt,
        // Reading agent files has a cost.
        agents: seesAgents(shown)
          ? listAgents(policies.agents, agentsWithin(agents.list(session.folder), run.ceiling))
          : [],
        subagent,
      })
      bytes.set(run.agent ?? '', Buffer.byteLength(text) - Buffer.byteLength(threadPrompt ?? ''))
      return text
    },
    promptBytes: ({ agent }) => bytes.get(agent ?? '') ?? defaultPromptBytes,
  }
}
