import { unquoted } from './find.ts'
import { askedAll, type Seen, type Step } from './seen.ts'
import { surveyFolder } from './survey.ts'
import { reasonIn } from './tool-texts.ts'

/** Writes the words that were given into a file, as they are. */
export function writeWords(seen: Seen, heard: RegExpExecArray): Step {
  const [, path = '', words = ''] = heard
  return written(seen, unquoted(path), `${unquoted(words.trim())}\n`)
}

/** Surveys the folder and writes what it counted into a file, which says who wrote it. */
export function writeSurvey(seen: Seen, heard: RegExpExecArray): Step {
  const found = surveyFolder({ ...seen, answers: seen.answers.filter(({ name }) => name !== 'write_file') })
  if ('calls' in found) return found
  const heading = '# Survey\n\nREHEARSAL: counted by a script, not by a model.\n\n'
  return written(seen, unquoted(heard[1] ?? ''), `${heading}${found.text}\n`)
}

function written(seen: Seen, path: string, content: string): Step {
  const asked = askedAll(seen, [{ name: 'write_file', input: { path, content } }])
  if ('calls' in asked) return asked
  const [text = ''] = asked.answers
  if (!/"status":\s*"ok"/.test(text)) return { text: `I did not write ${path}: ${reasonIn(text)}` }
  const lines = content.split('\n').length - 1
  return { text: `wrote ${path}: ${lines} ${lines === 1 ? 'line' : 'lines'}, ${Buffer.byteLength(content)} bytes.` }
}
