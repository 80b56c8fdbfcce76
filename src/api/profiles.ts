import type { EffectivePin, PinScope } from '../domain/profiles/pin.ts'
import type { ProfileValue } from '../domain/profiles/profile.ts'
import type { AgentEntryInput, AgentRegistry } from '../domain/profiles/registry.ts'

/** A profile with its version. */
export interface ProfileView extends ProfileValue {
  id: string
  version: number
  updatedAt: string
  /** Who wrote it; `heddle` for those that are shipped. */
  updatedBy: string
}

/** The registry of agents with its version: 0 if there is none. */
export interface RegistryView {
  version: number
  registry: AgentRegistry
  updatedAt: string | null
  updatedBy: string | null
}

/** A pin, and whether and why it counts. */
export interface PinView {
  scope: PinScope
  /** Id of the session or user, or the folder; empty for all. */
  id: string
  profileId: string
  agentId?: string
  effective: boolean
  why: string
}

/** Pins that could hold in a session: the one that counts first. */
interface PinsView extends Pick<EffectivePin, 'why'> {
  pins: PinView[]
}

/** One version of a profile or of the registry; null for its removal. */
export interface PolicyVersionView {
  version: number
  value: unknown
  at: string
  by: string
}

/** Profiles, the registry of agents, and pins. `folder` is the caller's working directory. */
export interface ProfileApp {
  profiles(): Promise<ProfileView[]>
  profile(id: string): Promise<ProfileView>
  /** Writes a profile. Refused if it is at another version than the expected one: 0 for one that does not exist. */
  setProfile(id: string, value: unknown, expectedVersion?: number): Promise<ProfileView>
  /** Removes a profile that no agent uses. */
  deleteProfile(id: string, expectedVersion?: number): Promise<{ version: number }>
  /** Versions of a profile, newest first. */
  profileHistory(id: string): Promise<PolicyVersionView[]>
  agentRegistry(): Promise<RegistryView>
  /** Replaces the registry. Refused if it is at another version than the expected one. */
  setAgentRegistry(value: unknown, expectedVersion: number): Promise<RegistryView>
  registerAgent(entry: AgentEntryInput): Promise<{ version: number }>
  unregisterAgent(agentId: string): Promise<{ version: number }>
  /** Versions of the registry, newest first. */
  registryHistory(): Promise<PolicyVersionView[]>
  /** Which profile is pinned in a session of this folder, and why; without a session, outside of any. */
  pins(folder: string, session?: string): Promise<PinsView>
  /** Pins an agent's profile, or a profile. A new label starts a session. */
  setPin(
    folder: string,
    pin: { scope: PinScope; session?: string; agentId?: string; profileId?: string },
  ): Promise<Omit<PinView, 'effective' | 'why'>>
  /** Removes a pin; false if nothing was pinned there. */
  removePin(folder: string, pin: { scope: PinScope; session?: string }): Promise<{ removed: boolean }>
}
