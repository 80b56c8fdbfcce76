import { countNoun } from '../domain/text/count-noun.ts'
import { stripQuotes } from './find.ts'
import { answersOrCalls, type ScriptStep, type ScriptView } from './script-view.ts'
import { defaultReport } from './survey/part.ts'
import { surveyFolder } from './survey/survey.ts'
import { reasonIn } from './tool-texts.ts'

/** Writes the given text into a file. */
export function writeWords(view: ScriptView, match: RegExpExecArray): ScriptStep {
  const [, path = '', words = ''] = match
  return writeFileStep(view, stripQuotes(path), `${stripQuotes(words.trim())}\n`)
}

/** Surveys the folder and writes the result into a file, labelled as written by a script. */
export function writeSurvey(view: ScriptView): ScriptStep {
  const found = surveyFolder(view)
  if ('calls' in found) return found
  const label = 'REHEARSAL: counted by a script, not by a model.'
  return writeFileStep(view, reportPath(view.task), `# Survey\n\n${found.text}\n\n${label}\n`)
}

/** Path of the report that a prompt asks for. */
export function reportPath(prompt: string): string {
  return stripQuotes(/\b(?:into|to|as|in)\s+(\S+\.(?:md|txt))\b/i.exec(prompt)?.[1] ?? defaultReport)
}

/** Writes a file and reports it; `what` describes its content. */
export function writeFileStep(view: ScriptView, path: string, content: string, what?: string): ScriptStep {
  const step = answersOrCalls(view, [{ name: 'write_file', input: { path, content } }])
  if ('calls' in step) return step
  const [text = ''] = step.answers
  if (!/"status":\s*"ok"/.test(text)) return { text: `I did not write ${path}: ${reasonIn(text)}` }
  const lines = content.split('\n').length - 1
  const size = `${countNoun(lines, 'line')}, ${Buffer.byteLength(content)} bytes.`
  return { text: `wrote ${path}: ${what === undefined ? '' : `${what}; `}${size}` }
}
