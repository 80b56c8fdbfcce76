import type { TestHeddle } from './heddle.ts'

/** What a command printed, with stand-ins for what differs from run to run; the same id gets the same stand-in. */
export function steady(text: string, { home, folder }: Pick<TestHeddle, 'home' | 'folder'>): string {
  const ids = new Map<string, string>()
  const standIn = (id: string) => {
    const known = ids.get(id.slice(-6)) ?? String(ids.size + 1).padStart(6, '0')
    ids.set(id.slice(-6), known)
    return known.padStart(id.length, '.')
  }
  return (
    text
      .replaceAll(home, '~/.heddle')
      .replaceAll(folder, '~/shop')
      .replace(/\b[0-9a-hjkmnp-tv-z]{20}\b/g, standIn)
      .replace(/(?<=(?:turn|run):)[0-9a-hjkmnp-tv-z]{6}\b/g, standIn)
      .replace(/used +\d+s ago/g, 'used     0s ago')
      .replace(/ *\d+s ago/g, (age) => '0s ago'.padStart(age.length))
      // A column that is as wide as its widest age.
      .replace(/ turns +0s ago/g, ' turns  0s ago')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2026-01-01T00:00:00.000Z')
      .replace(/v24\.\d+\.\d+/, 'v24.0.0')
      .replace(/\d+ MB free under \S+/, '9000 MB free under ~')
      .replace(/[\d.]+ MB$/m, '0.1 MB')
  )
}
