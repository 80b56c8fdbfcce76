import type { ProfileView } from '../api/profiles.ts'
import { defineCommand } from './command.ts'
import { factsBlock, tableOutcome } from './outcome.ts'

export const profileCommands = [
  defineCommand({
    name: 'profiles',
    usage: '/profiles',
    summary: 'what agents may use: models, skills, limits',
    example: '/profiles',
    action: 'profile.read',
    run: async ({ app }) =>
      tableOutcome(await app.profiles(), {
        columns: { profile: ({ id }) => id, version: ({ version }) => version, limits: describeLimits },
        wide: 'limits',
        empty: 'no profiles yet    heddle profiles set profile:ID --file FILE',
        next: '/profiles show profile:writer:v1',
      }),
  }),
  defineCommand({
    name: 'profiles show',
    usage: '/profiles show profile',
    summary: 'one profile, with all that it allows',
    example: '/profiles show profile:writer:v1',
    action: 'profile.read',
    parse: (words) => words.word('profile'),
    async run({ app }, id) {
      const profile = await app.profile(id)
      const { model, limits = {}, systemPrompt } = profile
      const facts = factsBlock({
        profile: id,
        model: [model.provider, model.model].filter(Boolean).join(' ') || 'default',
        models: listNames(profile.allowedModels),
        skills: listNames(profile.allowedSkills),
        'mcp servers': listNames(profile.allowedMcpServers),
        window: profile.contextWindow === undefined ? undefined : `${profile.contextWindow} tokens`,
        timeout: limits.timeoutSeconds === undefined ? undefined : `${limits.timeoutSeconds} s`,
        reply: limits.maxTokens === undefined ? undefined : `${limits.maxTokens} tokens`,
        tools: limits.permissions && JSON.stringify(limits.permissions),
        changed: profile.updatedAt,
        version: profile.version,
        by: profile.updatedBy,
      })
      return {
        blocks: systemPrompt === undefined ? [facts] : [facts, { kind: 'quote', text: systemPrompt }],
        next: '/agents register @editor | profile:writer:v1 | Shortens texts.',
      }
    },
  }),
]

/** Describes the limits of a profile in a few words. */
export function describeLimits({ model, allowedModels, allowedSkills, contextWindow, limits }: ProfileView): string {
  const words = [
    ...(model.model === undefined ? [] : [`model ${model.model}`]),
    ...(model.provider === undefined ? [] : [`models of ${model.provider}`]),
    ...(allowedModels ? [`${allowedModels.length} models`] : []),
    ...(allowedSkills ? [`${allowedSkills.length} skills`] : []),
    ...(contextWindow === undefined ? [] : [`${contextWindow} tokens`]),
    ...(limits === undefined ? [] : ['limits']),
  ]
  return words.join(', ') || 'limits nothing'
}

function listNames(list: readonly string[] | undefined): string | undefined {
  return list && (list.join(', ') || 'none')
}
