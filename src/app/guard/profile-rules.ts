import type { ProfileApp } from '../../api/profiles.ts'
import { type PinScope, pinAction, pinRecordId } from '../../domain/profiles/pin.ts'
import { registryId } from '../../domain/profiles/registry.ts'
import { always, type Checks, type RulesOf } from './rule.ts'

export const profileRules: RulesOf<ProfileApp> = {
  profiles: { action: 'profile.read' },
  profile: { action: 'profile.read' },
  setProfile: { action: 'profile.change', about: (id) => `profile:${id}`, audited: always },
  deleteProfile: { action: 'profile.change', about: (id) => `profile:${id}`, audited: always },
  profileHistory: { action: 'profile.read' },
  agentRegistry: { action: 'agent.list' },
  setAgentRegistry: { action: 'agent.register', about: () => registryId, audited: always },
  registerAgent: { action: 'agent.register', about: ({ agentId }) => `agent:${agentId}`, audited: always },
  unregisterAgent: { action: 'agent.register', about: (agentId) => `agent:${agentId}`, audited: always },
  registryHistory: { action: 'profile.read' },
  pins: {
    action: 'pin.read',
    async args(checks, folder, session) {
      const at = await checks.folder(folder)
      return [at, session === undefined ? session : await checks.session(session, at)]
    },
  },
  setPin: {
    action: (_, { scope }) => pinAction(scope),
    args: ownPin,
    about: (_, { scope, session }) => pinRecordId(scope, session ?? ''),
    audited: (_, { scope }) => pinAction(scope) === 'pin.share',
  },
  removePin: {
    action: (_, { scope }) => pinAction(scope),
    args: ownPin,
    about: (_, { scope, session }) => pinRecordId(scope, session ?? ''),
    audited: (_, { scope }) => pinAction(scope) === 'pin.share',
  },
}

/** A pin of a session needs the right to that session. */
async function ownPin<Pin extends { scope: PinScope; session?: string }>(
  checks: Checks,
  folder: string,
  pin: Pin,
): Promise<[string, Pin]> {
  const at = await checks.folder(folder)
  if (pin.scope !== 'session') return [at, pin]
  return [at, { ...pin, session: await checks.session(pin.session ?? 'main', at) }]
}
