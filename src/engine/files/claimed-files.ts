import type { Ending } from '../../domain/run.ts'
import { pathHandle } from '../../tools/files/handle.ts'
import type { RunHandle } from '../run/moments.ts'
import type { Engine } from '../runtime.ts'

/** Max claimed files that are checked. */
const maxClaimed = 50

/**
 * Adds a note to a child's result if files that it claims to have written do not exist: the agent's word is not enough.
 */
export async function noteMissingFiles({ engine, claimed }: RunHandle<Engine>, ending: Ending): Promise<Ending> {
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
  const note = `[heddle: ${missing.length === 1 ? 'a claimed file does' : 'claimed files do'} not exist: ${missing.join(', ')}]`
  // In the first paragraph, which is the summary: the requester may read nothing else.
  return { ...ending, text: `${note} ${ending.text}` }
}

const filesLine = /^\W{0,4}files:\W{0,4}/i

/** Paths under `Files:` at the end of an answer. */
export function claimedFiles(text: string): string[] {
  const lines = text.split('\n')
  const at = lines.findLastIndex((line) => filesLine.test(line.trim()))
  return at === -1 ? [] : pathsUnder(lines, at, filesLine).slice(0, maxClaimed)
}

/** Paths on a line after a word such as `Files:`, and in the list below it. */
export function pathsUnder(lines: readonly string[], at: number, word: RegExp): string[] {
  const [first = '', ...rest] = lines.slice(at)
  const end = rest.findIndex((line) => !isListItem(line))
  const listed = [...first.trim().replace(word, '').split(','), ...rest.slice(0, end === -1 ? undefined : end)]
  return [...new Set(listed.map(parseClaimedPath).filter((path) => path !== ''))]
}

function isListItem(line: string): boolean {
  return /^\s*(?:[-*•]|\d+[.)])\s+\S|^\s*`[^`]+`|^\s*\S+\.\w{1,8}\b/.test(line)
}

function parseClaimedPath(item: string): string {
  const bare = item.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').trim()
  const quoted = /^`([^`]+)`/.exec(bare)?.[1]
  const word = quoted ?? bare.split(/\s+[(–—:-]|\s{2,}|:\s/)[0]?.trim() ?? ''
  const name = word.replace(/[.,;]$/, '')
  // Several words without an extension are a sentence, not a missing file.
  const isSentence = quoted === undefined && /\s/.test(name) && !/\.\w{1,8}$/.test(name)
  return /^none\b|^n\/a\b|^-$/i.test(name) || name.includes('://') || isSentence ? '' : name
}
