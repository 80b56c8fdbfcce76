import fc from 'fast-check'
import { pinScopes } from '../../src/domain/profiles/pin.ts'
import type { ProfileValue } from '../../src/domain/profiles/profile.ts'
import type { NameLists } from '../../src/domain/tools/permission.ts'

export const models = ['main', 'small', 'big']
const tools = [
  'read_file',
  'write_file',
  'web_fetch',
  'push',
  'memory_store',
  'sessions_spawn',
  'spawn_agent',
  'delegate',
]

const lists: fc.Arbitrary<NameLists> = fc.record(
  {
    allow: fc.subarray(tools, { minLength: 2 }),
    deny: fc.subarray(tools, { maxLength: 2 }),
  },
  { requiredKeys: ['deny'] },
)
const allowed = fc.option(fc.subarray(models, { minLength: 1 }), { nil: undefined })
const pick = fc.nat(1000)
const files = ['writer', 'reader', 'helper']
export const profileIds = ['profile:a', 'profile:b', 'profile:c']
const skills = fc.option(fc.subarray(files), { nil: undefined })
const servers = fc.option(fc.subarray(['docs', 'web']), { nil: undefined })
const profile = fc.record({
  ...{ id: fc.constantFrom(...profileIds), model: fc.option(fc.constantFrom(...models), { nil: undefined }) },
  ...{ allowed, skills, servers, deny: fc.subarray(tools, { maxLength: 2 }) },
  window: fc.option(fc.constantFrom(1000, 4000), { nil: undefined }),
})
const entry = fc.record({
  ...{ agentId: fc.constantFrom('@writer', '@poet', '@helper'), profileId: fc.constantFrom(...profileIds) },
  ...{ defaults: fc.subarray(files), skills: fc.subarray(files), servers: fc.subarray(['docs', 'web']) },
})
/** Histories: what users, owners, agents and crashes do, in any order. */
export const acts = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ act: fc.constant('ask' as const), pick, tools: fc.option(fc.subarray(tools)) }),
    },
    { weight: 6, arbitrary: fc.record({ act: fc.constant('claim' as const) }) },
    { weight: 4, arbitrary: fc.record({ act: fc.constant('spawn' as const), pick }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant('requeue' as const), pick }) },
    { weight: 2, arbitrary: fc.record({ act: fc.constant('execute' as const), pick }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('retry' as const), pick }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('fork' as const), pick }) },
    { weight: 3, arbitrary: fc.record({ act: fc.constant('config' as const), lists, allowed }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('persona' as const), lists }) },
    { weight: 3, arbitrary: fc.record({ act: fc.constant('profile' as const), profile }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('drop' as const), id: fc.constantFrom(...profileIds) }) },
    { weight: 3, arbitrary: fc.record({ act: fc.constant('entry' as const), entry, isRemoved: fc.boolean() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        ...{ act: fc.constant('pin' as const), pick, scope: fc.constantFrom(...pinScopes) },
        profileId: fc.option(fc.constantFrom(...profileIds), { nil: undefined }),
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({
        ...{
          act: fc.constant('delegate' as const),
          pick,
          agentId: fc.constantFrom('@writer', 'poet', '@helper', '@none'),
        },
        ...{
          forwardSkills: fc.option(fc.subarray(files, { maxLength: 1 }), { nil: undefined, freq: 1 }),
          mcpServers: fc.option(fc.subarray(['docs', 'web'], { maxLength: 1 }), { nil: undefined, freq: 1 }),
          model: fc.option(fc.constantFrom(...models), { nil: undefined }),
        },
      }),
    },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('narrate' as const) }) },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('user' as const), tools: fc.option(fc.subarray(tools)) }) },
  ),
  { minLength: 20, maxLength: 60 },
)
/** One act of a history. */
export type Act = (typeof acts extends fc.Arbitrary<infer T> ? T : never)[number]

type GeneratedProfile = typeof profile extends fc.Arbitrary<infer T> ? T : never

/** What a profile of the test says. */
export function profileFrom({ model, allowed, skills, servers, deny, window }: GeneratedProfile): ProfileValue {
  return {
    model: { ...(model && { model }) },
    ...(allowed && { allowedModels: allowed }),
    ...(skills && { allowedSkills: skills.map((name) => `skill:${name}`) }),
    ...(servers && { allowedMcpServers: servers }),
    ...(window && { contextWindow: window }),
    limits: { permissions: { tools: { deny } } },
  }
}
