import { z } from 'zod'
import { type CheckReader, type CheckResult, checkOf, joinWords } from './check.ts'
import { countField, nonEmptyText, regexText, relativePath } from './check-fields.ts'
import type { Evidence } from './evidence.ts'
import { readTextFile } from './folder-state.ts'

const maxParagraphLength = 400

/** Checks of the agent's answer. */
export const answerChecks: Record<string, CheckReader> = {
  first_paragraph: checkOf(
    z.strictObject({ atMost: countField.default(maxParagraphLength) }),
    ({ atMost }) => `the answer begins with a paragraph of at most ${atMost} characters`,
    ({ atMost }, { text }) => {
      const paragraph = text.trim().split(/\n\s*\n/)[0] ?? ''
      if (paragraph === '') return { ok: false, saw: 'no answer' }
      if (paragraph.startsWith('#')) return { ok: false, saw: `a heading: ${beginning(paragraph)}` }
      return { ok: paragraph.length <= atMost, saw: `${paragraph.length} characters` }
    },
  ),
  answer_contains: checkOf(
    z.strictObject({ text: nonEmptyText }),
    ({ text }) => `the answer says "${text}"`,
    ({ text: wanted }, { text }) => inAnswer(text, text.toLowerCase().includes(wanted.toLowerCase())),
  ),
  answer_lacks: checkOf(
    z.strictObject({ text: nonEmptyText }),
    ({ text }) => `the answer does not say "${text}"`,
    ({ text: unwanted }, { text }) => {
      const at = text.toLowerCase().indexOf(unwanted.toLowerCase())
      return at === -1 ? { ok: true, saw: 'it does not' } : { ok: false, saw: beginning(text.slice(at)) }
    },
  ),
  answer_matches: checkOf(
    z.strictObject({ pattern: regexText }),
    ({ pattern }) => `the answer matches /${pattern}/`,
    ({ pattern }, { text }) => inAnswer(text, new RegExp(pattern, 'im').test(text)),
  ),
  places: checkOf(
    z.strictObject({ atLeast: countField.default(1) }),
    ({ atLeast }) =>
      atLeast === 1
        ? 'the answer names a path:line that exists'
        : `the answer names ${atLeast} different path:line that exist`,
    ({ atLeast }, evidence) => {
      const all = placesIn(evidence)
      const wrong = all.filter(({ isThere }) => !isThere).map(renderPlace)
      const right = [...new Set(all.filter(({ isThere }) => isThere).map(renderPlace))]
      if (wrong.length > 0) return { ok: false, saw: `lines that do not exist: ${joinWords(wrong)}` }
      return { ok: right.length >= atLeast, saw: joinWords(right) || 'none' }
    },
  ),
  place: checkOf(
    z
      .strictObject({ path: relativePath, from: countField.min(1), to: countField.min(1) })
      .refine(({ from, to }) => from <= to, { error: 'from must not be greater than to' }),
    ({ path, from, to }) => `the answer points at ${path}:${from === to ? from : `${from}-${to}`}`,
    ({ path, from, to }, evidence) => {
      const there = placesIn(evidence).filter((place) => place.path === path)
      return {
        ok: there.some((place) => place.from <= to && place.to >= from),
        saw: joinWords(there.map(renderPlace)) || 'none',
      }
    },
  ),
}

interface CitedPlace {
  path: string
  from: number
  to: number
  isThere: boolean
}

/** Every `path:line` and `path:line-line` of the answer whose path is a file of the folder. */
function placesIn({ text, folder }: Evidence): CitedPlace[] {
  const found = text.replaceAll(`${folder}/`, '').matchAll(/([\w./-]*[\w-]+\.[A-Za-z]\w*):(\d+)(?:\s?[-–]\s?(\d+))?/g)
  return [...found].flatMap(([, written = '', first = '', last = first]) => {
    const path = written.replace(/^\.\//, '')
    const content = readTextFile(folder, path)
    if (content === undefined) return []
    const [from, to] = [Number(first), Number(last)]
    return [{ path, from, to, isThere: from >= 1 && from <= content.trimEnd().split('\n').length }]
  })
}

function renderPlace({ path, from, to }: CitedPlace): string {
  return from === to ? `${path}:${from}` : `${path}:${from}-${to}`
}

function inAnswer(text: string, ok: boolean): CheckResult {
  return { ok, saw: text.trim() === '' ? 'no answer' : beginning(text) }
}

function beginning(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return `"${line.length > 80 ? `${line.slice(0, 79)}…` : line}"`
}
