import { host } from './host.ts'

// Only the administrator installs programs here; the PATH may name folders that others can write to.
const places = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin', '/opt/homebrew/bin']

/** Programs needed to run commands, by real path. */
export interface Programs {
  bash: string
  cat: string
  setsid: string
  bwrap?: string
}

/** Finds the programs; `missing` is the package of the first required one that is not installed. */
export async function findPrograms(): Promise<Programs | { missing: string }> {
  const [bash, cat, setsid, bwrap] = await Promise.all(['bash', 'cat', 'setsid', 'bwrap'].map(find))
  if (bash === undefined) return { missing: 'bash' }
  if (cat === undefined) return { missing: 'coreutils' }
  if (setsid === undefined) return { missing: 'util-linux' }
  return { bash, cat, setsid, ...(bwrap !== undefined && { bwrap }) }
}

async function find(name: string): Promise<string | undefined> {
  for (const place of places) {
    if ((await host.realPath(`${place}/${name}`)) === undefined) continue
    return `${place}/${name}`
  }
  return undefined
}
