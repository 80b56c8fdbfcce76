import { basename } from 'node:path'
import type { AgentFormat } from '../domain/agent.ts'
import { canonicalToolName } from '../domain/tools/tool-names.ts'

const openclawNames = ['openclaw', 'clawdbot', 'moltbot', 'clawdis']
const openclawFields = ['command-dispatch', 'command-tool', 'command-arg-mode']
const claudeSkillFields = [
  ...['when_to_use', 'argument-hint', 'arguments', 'disable-model-invocation', 'user-invocable', 'disallowed-tools'],
  ...['context', 'agent', 'hooks', 'paths', 'shell', 'effort'],
]
const claudeAgentFields = [
  ...['disallowedTools', 'permissionMode', 'maxTurns', 'mcpServers', 'initialPrompt', 'isolation', 'background'],
  ...['memory', 'effort', 'skills', 'hooks'],
]
const opencodeFields = [
  ...['mode', 'permission', 'permissions', 'temperature', 'top_p', 'variant', 'steps', 'maxSteps', 'hidden', 'disable'],
  ...['disabled', 'prompt', 'options'],
]

/** Whether a file is a SKILL.md, whose folder names the agent. */
export function isSkillFile(path: string): boolean {
  return /^skill\.md$/i.test(basename(path))
}

/** Format of a file by its fields, if its directory does not imply one. */
export function formatOf(path: string, fields: ReadonlyMap<string, unknown>): AgentFormat {
  const has = (names: readonly string[]) => names.some((name) => fields.has(name))
  if (isOpenclaw(fields.get('metadata')) || has(openclawFields)) return 'openclaw'
  if (fields.has('triggers') && fields.has('tools')) return 'heddle'
  if (isSkillFile(path)) return has(claudeSkillFields) ? 'claude-skill' : 'agent-skill'
  if (has(opencodeFields) || isMap(fields.get('tools'))) return 'opencode'
  return has(claudeAgentFields) || hasClaudeValues(fields) ? 'claude-agent' : 'heddle'
}

function isOpenclaw(metadata: unknown): boolean {
  if (typeof metadata === 'string') return openclawNames.some((name) => metadata.includes(`"${name}"`))
  return isMap(metadata) && openclawNames.some((name) => Object.hasOwn(metadata, name))
}

function hasClaudeValues(fields: ReadonlyMap<string, unknown>): boolean {
  const model = fields.get('model')
  if (typeof model === 'string' && /^(?:sonnet|opus|haiku|fable|inherit)$/i.test(model.trim())) return true
  const tools = [fields.get('tools')].flat().filter((each) => typeof each === 'string')
  const first = /^[A-Z][A-Za-z]*/.exec(tools[0] ?? '')?.[0]
  return first !== undefined && canonicalToolName(first) !== undefined
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
