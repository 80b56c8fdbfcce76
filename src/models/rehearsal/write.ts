import { unquoted } from './find.ts'
import { usualReport } from './part.ts'
import { askedAll, type Seen, type Step } from './seen.ts'
import { surveyFolder } from './survey.ts'
import { reasonIn } from './tool-texts.ts'

/** Writes the words that were given into a file, as they are. */
export function writeWords(seen: Seen, heard: RegExpExecArray): Step {
  const [, path = '', words = ''] = heard
  return written(seen, unquoted(path), `${unquoted(words.trim())}\n`)
}

/** Surveys the folder and writes what it counted into a file, which says who wrote it. */
export function writeSurvey(seen: Seen): Step {
  const found = surveyFolder(seen)
  if ('calls' in found) return found
  const label = 'REHEARSAL: counted by a script, not by a model.'
  return written(seen, reportPath(seen.asked), `# Survey\n\n${found.text}\n\n${label}\n`)
}

/** Where a report is to go, in the words of whoever wants it. */
export function reportPath(asked: string): string {
  return unquoted(/\b(?:into|to|as|in)\s+(\S+\.(?:md|txt))\b/i.exec(asked)?.[1] ?? usualReport)
}

/** Writes a file, and says so; `what` tells what is in it. */
export function written(seen: Seen, path: string, content: string, what?: string): Step {
  const asked = askedAll(seen, [{ name: 'write_file', input: { path, content } }])
  if ('calls' in asked) return asked
  const [text = ''] = asked.answers
  if (!/"status":\s*"ok"/.test(text)) return { text: `I did not write ${path}: ${reasonIn(text)}` }
  const lines = content.split('\n').length - 1
  const size = `${lines} ${lines === 1 ? 'line' : 'lines'}, ${Buffer.byteLength(content)} bytes.`
  return { text: `wrote ${path}: ${what === undefined ? '' : `${what}; `}${size}` }
}
