import type { Ending } from '../domain/run.ts'
import { pathHandle } from '../tools/handle.ts'
import type { ActiveRun } from './active-run.ts'

/** So many are looked at; nobody lists more by hand. */
const mostClaimed = 50

/**
 * An agent that works for others lists the files that it wrote. Whether they are there is not for it to say: one that is
 * missing is told with the result.
 */
export async function withMissingFiles({ engine, claimed }: ActiveRun, ending: Ending): Promise<Ending> {
  if (claimed.run.requesterSessionId === null || ending.state !== 'completed') return ending
  const { folder } = claimed.session
  const missing: string[] = []
  for (const path of claimedFiles(ending.text)) {
    const isThere = await pathHandle({ folder, path, protect: engine.protect })
      .openFile(async () => true)
      .catch(() => false)
    if (!isThere) missing.push(path)
  }
  if (missing.length === 0) return ending
  const note = `[heddle: ${missing.length === 1 ? 'a claimed file is' : 'claimed files are'} not there: ${missing.join(', ')}]`
  // In the first paragraph, which is the summary: whoever reads nothing else must see it.
  return { ...ending, text: `${note} ${ending.text}` }
}

/** The paths under `Files:` at the end of a deliverable. */
export function claimedFiles(text: string): string[] {
  const lines = text.split('\n')
  const at = lines.findLastIndex((line) => /^\W{0,4}files:\W{0,4}/i.test(line.trim()))
  if (at === -1) return []
  const [first = '', ...rest] = lines.slice(at)
  const same = first.replace(/^\W{0,4}files:\W{0,4}/i, '')
  const listed = [
    ...same.split(','),
    ...rest.slice(0, rest.findIndex(isNoItem) === -1 ? undefined : rest.findIndex(isNoItem)),
  ]
  return [...new Set(listed.map(pathIn).filter((path) => path !== ''))].slice(0, mostClaimed)
}

function isNoItem(line: string): boolean {
  return !/^\s*(?:[-*•]|\d+[.)])\s+\S|^\s*`[^`]+`|^\s*\S+\.\w{1,8}\b/.test(line)
}

function pathIn(item: string): string {
  const bare = item.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').trim()
  const quoted = /^`([^`]+)`/.exec(bare)?.[1]
  const word = quoted ?? bare.split(/\s+[(–—:-]|\s{2,}|:\s/)[0]?.trim() ?? ''
  const name = word.replace(/[.,;]$/, '')
  // Several words that end in no extension are a sentence, not a file that is missing.
  const isSaid = quoted === undefined && /\s/.test(name) && !/\.\w{1,8}$/.test(name)
  return /^none\b|^n\/a\b|^-$/i.test(name) || name.includes('://') || isSaid ? '' : name
}
