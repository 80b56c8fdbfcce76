import { z } from 'zod'
import { type CheckReader, type CheckResult, checkOf, joinWords } from './check.ts'
import { nonEmptyText, regexText, relativePath } from './check-fields.ts'
import type { Evidence } from './evidence.ts'
import { changesBetween, readTextFile } from './folder-state.ts'

/** Checks of the files after the run. */
export const fileChecks: Record<string, CheckReader> = {
  file_exists: checkOf(
    z.strictObject({ path: relativePath }),
    ({ path }) => `${path} exists`,
    ({ path }, { folder }) =>
      readTextFile(folder, path) === undefined ? { ok: false, saw: 'no such file' } : { ok: true, saw: 'it does' },
  ),
  file_missing: checkOf(
    z.strictObject({ path: relativePath }),
    ({ path }) => `there is no ${path}`,
    ({ path }, { after }) => (after.has(path) ? { ok: false, saw: 'it is there' } : { ok: true, saw: 'none' }),
  ),
  file_contains: checkOf(
    z.strictObject({ path: relativePath, text: nonEmptyText }),
    ({ path, text }) => `${path} contains "${text}"`,
    ({ path, text }, evidence) => lookInto(evidence, path, (all) => all.includes(text)),
  ),
  file_lacks: checkOf(
    z.strictObject({ path: relativePath, text: nonEmptyText }),
    ({ path, text }) => `${path} does not contain "${text}"`,
    ({ path, text }, evidence) => lookInto(evidence, path, (all) => !all.includes(text)),
  ),
  file_matches: checkOf(
    z.strictObject({ path: relativePath, pattern: regexText }),
    ({ path, pattern }) => `${path} matches /${pattern}/`,
    ({ path, pattern }, evidence) => lookInto(evidence, path, (all) => new RegExp(pattern, 'im').test(all)),
  ),
  unchanged: checkOf(
    z.strictObject({ paths: z.array(relativePath).min(1).optional(), except: z.array(relativePath).min(1).optional() }),
    ({ paths, except }) => {
      if (paths) return `unchanged: ${joinWords(paths)}`
      return except ? `nothing but ${joinWords(except)} was touched` : 'no file was touched'
    },
    ({ paths, except = [] }, { before, after }) => {
      const { made, changed, gone } = changesBetween(before, after)
      const counts = (path: string) => (paths ? paths.includes(path) : !except.includes(path))
      const changes = [
        ...made.filter(counts).map((path) => `${path} made`),
        ...changed.filter(counts).map((path) => `${path} changed`),
        ...gone.filter(counts).map((path) => `${path} removed`),
      ]
      return changes.length > 0 ? { ok: false, saw: joinWords(changes) } : { ok: true, saw: 'nothing else' }
    },
  ),
  files_list: checkOf(
    z.strictObject({}),
    () => 'the list after Files: names what was written, and nothing else',
    (_, { text, folder, before, after }) => {
      const { made, changed, gone } = changesBetween(before, after)
      const written = [...made, ...changed]
      const listed = filesListed(text, folder)
      const wrong = [
        ...written.filter((path) => !listed.includes(path)).map((path) => `${path} is not listed`),
        ...listed
          .filter((path) => !written.includes(path) && !gone.includes(path))
          .map((path) => `${path} is listed and was not written`),
      ]
      return wrong.length > 0
        ? { ok: false, saw: joinWords(wrong) }
        : { ok: true, saw: joinWords(written) || 'nothing' }
    },
  ),
}

function lookInto({ folder }: Evidence, path: string, isRight: (text: string) => boolean): CheckResult {
  const text = readTextFile(folder, path)
  if (text === undefined) return { ok: false, saw: 'no such file' }
  const lines = text === '' ? 0 : text.trimEnd().split('\n').length
  return { ok: isRight(text), saw: `${lines} lines that ${isRight(text) ? 'do' : 'do not'}` }
}

/** Paths after the last line with `Files:`, relative to the folder, without decoration. */
function filesListed(text: string, folder: string): string[] {
  const lines = text.split('\n')
  const at = lines.findLastIndex((line) => /^[\s#*_]*files:/i.test(line))
  if (at === -1) return []
  const first = (lines[at] ?? '').replace(/^[\s#*_]*files:[\s*_]*/i, '').split(',')
  return [...first, ...lines.slice(at + 1)]
    .map((line) => /`([^`]+)`/.exec(line)?.[1] ?? /^[\s*-]*([^\s,;]+)/.exec(line)?.[1] ?? '')
    .map((path) => path.replace(`${folder}/`, '').replace(/^\.\//, '').replace(/:$/, ''))
    .filter((path) => path !== '' && !/^none\.?$/i.test(path))
}
