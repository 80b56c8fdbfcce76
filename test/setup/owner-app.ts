import type { App } from '../../src/api/app.ts'
import type { Heddle } from '../../src/api/heddle.ts'
import { type AppSettings, openApp } from '../../src/app/app.ts'
import { owner } from '../../src/domain/access/principal.ts'

/** A Heddle and its owner's App in one object, for tests that need both. */
export interface OwnerApp extends Heddle, App {}

export async function openOwnerApp(settings: AppSettings): Promise<OwnerApp> {
  const heddle = await openApp(settings)
  return { ...heddle, ...heddle.as(owner) }
}

/** A Heddle that hands out this one App, for tests that play its answers. */
export function heddleOf(app: App, process: Partial<Heddle> = {}): Heddle {
  return {
    as: () => app,
    identify: async () => owner,
    signIn: () => Promise.reject(new Error('nobody signs in to this Heddle')),
    signOut: async () => undefined,
    once: (_, __, act) => act(),
    work: () => Promise.reject(new Error('this Heddle does no work')),
    isReady: async () => true,
    listen: () => () => undefined,
    shownTo: async (_, events) => [...events],
    mayStream: async () => true,
    close: async () => undefined,
    ...process,
  }
}
