import { nearest } from '../text/nearest.ts'
import { canonicalToolName, isBookkeeping, nearestTool, toolNames } from './tool-names.ts'

/** The lists of names that permissions consist of. */
export const toolLists = ['allow', 'deny', 'ask'] as const

/** A name in a permission list that stands for no tool, so that it permits, denies and asks nothing. */
export interface UnknownTool {
  list: (typeof toolLists)[number]
  /** Position in its list. */
  at: number
  name: string
  /** The tool that was probably meant. */
  near?: string
}

/** All names in permission lists that stand for no tool. `own` are tools that the embedding program adds. */
export function unknownTools(
  lists: { [list in UnknownTool['list']]?: readonly string[] },
  own: readonly string[] = [],
): UnknownTool[] {
  return toolLists.flatMap((list) =>
    (lists[list] ?? []).flatMap((name, at): UnknownTool[] => {
      if (canStandForTool(name, own)) return []
      const near = nearToolOf(name, own)
      return [{ list, at, name, ...(near !== undefined && { near }) }]
    }),
  )
}

/** Completes the sentence "it names the tool X, which does not exist: …". */
export function unknownToolHint({ near }: UnknownTool): string {
  return near === undefined
    ? 'heddle tools have names such as read_file, write_file and exec; for a tool of your own program write NAME*'
    : `did you mean ${near}?`
}

/** Tools that do not exist here count as well if they could: exec without a sandbox, planned ones, other spellings. */
function canStandForTool(name: string, own: readonly string[]): boolean {
  // No tool has a parenthesis in its name: `Bash(rm *)` would match nothing.
  if (name.includes('*')) return !/[()]/.test(name)
  return own.includes(name) || canonicalToolName(name) !== undefined || isBookkeeping(name)
}

function nearToolOf(name: string, own: readonly string[]): string | undefined {
  const word = name.replace(/\(.*$/s, '').trim()
  return canonicalToolName(word) ?? nearest(word, [...toolNames, ...own]) ?? nearestTool(word)
}
