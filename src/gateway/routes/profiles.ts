import { z } from 'zod'
import type { ProfileApp } from '../../api/profiles.ts'
import { pinScopes } from '../../domain/profiles/pin.ts'
import { folder, target } from './fields.ts'
import { get, post, type RoutesOf } from './route.ts'

const id = z.string().max(200)
const versionNumber = z.int().min(0)
const expectedVersion = versionNumber
  .exactOptional()
  .describe('fail if the profile is at another version; 0: if it exists')
const names = z.array(z.string().max(1000)).max(1000).exactOptional()
const scope = z.enum(pinScopes)

export const profileRoutes: RoutesOf<ProfileApp> = {
  profiles: [
    get('profiles', {
      path: '/v1/profiles',
      summary: 'All profiles.',
      answer: { key: 'profiles' },
      call: (app) => app.profiles(),
      fields: () => ({}),
    }),
  ],
  profile: [
    get('profile', {
      path: '/v1/profiles/show',
      summary: 'One profile.',
      input: z.strictObject({ profile: id }),
      call: (app, { profile }) => app.profile(profile),
      fields: (profile) => ({ profile }),
    }),
  ],
  setProfile: [
    post('setProfile', {
      path: '/v1/profiles',
      summary: 'Stores a profile, new or changed.',
      input: z.strictObject({ profile: id, value: z.unknown(), expectedVersion }),
      answer: 'plain',
      call: (app, { profile, value, expectedVersion }) => app.setProfile(profile, value, expectedVersion),
      fields: (profile, value, expected) => ({
        profile,
        value,
        ...(expected !== undefined && { expectedVersion: expected }),
      }),
    }),
  ],
  deleteProfile: [
    post('deleteProfile', {
      path: '/v1/profiles/remove',
      summary: 'Removes a profile that no agent uses.',
      input: z.strictObject({ profile: id, expectedVersion }),
      call: (app, { profile, expectedVersion }) => app.deleteProfile(profile, expectedVersion),
      fields: (profile, expected) => ({ profile, ...(expected !== undefined && { expectedVersion: expected }) }),
    }),
  ],
  profileHistory: [
    get('profileHistory', {
      path: '/v1/profiles/history',
      summary: 'Versions of a profile, newest first.',
      input: z.strictObject({ profile: id }),
      answer: { key: 'versions' },
      call: (app, { profile }) => app.profileHistory(profile),
      fields: (profile) => ({ profile }),
    }),
  ],
  agentRegistry: [
    get('agentRegistry', {
      path: '/v1/agents/registry',
      summary: 'The registry of agents, with its version, which is its ETag.',
      newest: (app) => app.agentRegistry(),
      call: (app) => app.agentRegistry(),
      fields: () => ({}),
    }),
  ],
  setAgentRegistry: [
    post('setAgentRegistry', {
      path: '/v1/agents/registry',
      summary: 'Replaces the registry of agents, if it is still at this version; If-Match may say which.',
      newest: (app) => app.agentRegistry(),
      input: z.strictObject({ registry: z.unknown(), expectedVersion: versionNumber }),
      answer: 'plain',
      call: (app, { registry, expectedVersion }) => app.setAgentRegistry(registry, expectedVersion),
      fields: (registry, expectedVersion) => ({ registry, expectedVersion }),
    }),
  ],
  registerAgent: [
    post('registerAgent', {
      path: '/v1/agents/register',
      summary: 'Adds an agent to the registry.',
      input: z.strictObject({
        agentId: id,
        profileId: id,
        description: z.string().max(10_000),
        defaultForwardSkills: names,
        allowedForwardSkills: names,
        defaultMcpServers: names,
        allowedMcpServers: names,
        tags: names,
      }),
      call: (app, { id: _, ...entry }) => app.registerAgent(entry),
      fields: (entry) => ({ ...entry }),
    }),
  ],
  unregisterAgent: [
    post('unregisterAgent', {
      path: '/v1/agents/unregister',
      summary: 'Removes an agent from the registry.',
      input: z.strictObject({ agentId: id }),
      call: (app, { agentId }) => app.unregisterAgent(agentId),
      fields: (agentId) => ({ agentId }),
    }),
  ],
  registryHistory: [
    get('registryHistory', {
      path: '/v1/agents/registry/history',
      summary: 'Versions of the registry, newest first.',
      answer: { key: 'versions' },
      call: (app) => app.registryHistory(),
      fields: () => ({}),
    }),
  ],
  pins: [
    get('pins', {
      path: '/v1/pins',
      summary: 'Which profile is pinned in a session, and why.',
      input: z.strictObject({ folder, session: target.exactOptional() }),
      call: (app, { folder, session }) => app.pins(folder, session),
      fields: (folder, session) => ({ folder, ...(session !== undefined && { session }) }),
    }),
  ],
  setPin: [
    post('setPin', {
      path: '/v1/pins',
      summary: "Pins an agent's profile, or a profile, for a session, a user, a folder or all.",
      input: z.strictObject({
        folder,
        scope,
        session: target.exactOptional(),
        agentId: id.exactOptional(),
        profileId: id.exactOptional(),
      }),
      call: (app, { id: _, folder, ...pin }) => app.setPin(folder, pin),
      fields: (folder, pin) => ({ folder, ...pin }),
    }),
  ],
  removePin: [
    post('removePin', {
      path: '/v1/pins/remove',
      summary: 'Removes a pin.',
      input: z.strictObject({ folder, scope, session: target.exactOptional() }),
      call: (app, { id: _, folder, ...pin }) => app.removePin(folder, pin),
      fields: (folder, pin) => ({ folder, ...pin }),
    }),
  ],
}
