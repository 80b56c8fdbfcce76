import { checkReport } from './check.ts'
import { delegateRequest, delegateTask } from './delegate.ts'
import { failOnRequest } from './fail.ts'
import { findText } from './find.ts'
import { textInPathPattern, textOfPathPattern } from './place-words.ts'
import { quoteMemories, storeStatement } from './remember.ts'
import { writeReport } from './report.ts'
import { runCommand } from './run.ts'
import type { ScriptStep, ScriptView } from './script-view.ts'
import { researchRequest, researchTask, researchTopic, spawnResearch, spawnTasks, tasksRequest } from './subagents.ts'
import { canCount, countThings } from './survey/count.ts'
import { todoMarker } from './survey/format-count.ts'
import { outlineFile } from './survey/outline.ts'
import { summarisePart } from './survey/summarise.ts'
import { surveyFolder } from './survey/survey.ts'
import { surveyParts } from './survey/survey-parts.ts'
import { writeSurvey, writeWords } from './write.ts'

const findPattern = textInPathPattern('find|search(?: for)?|grep|where is')
const countPattern = textInPathPattern(String.raw`(?:count|how many)(?:\s+all)?(?:\s+of)?(?:\s+the)?`)

/** One ability of the script. */
export interface Skill {
  name: string
  /** Example prompt. */
  example: string
  does: string
  /** Required tools. */
  needs: readonly string[]
  /** Agents that a coordinator delegates to, the first that exists; empty: it does it itself. */
  by: readonly string[]
  /** Match of a prompt for this ability. */
  matches(prompt: string): RegExpExecArray | null
  run(view: ScriptView, match: RegExpExecArray): ScriptStep
}

/** All abilities of the script; everything else is refused. */
export const repertoire: readonly Skill[] = [
  {
    name: 'use a sub-agent',
    example: "what's X? use a sub-agent",
    does: 'starts a sub-agent that quotes your files about X, and presents its result',
    needs: ['search_files'],
    by: ['researcher'],
    matches: (prompt) => researchRequest.exec(prompt),
    run: spawnResearch,
  },
  {
    name: 'use sub-agents',
    example: 'use sub-agents: TASK; TASK',
    does: 'starts a sub-agent for each task of this list, and presents their results',
    needs: ['sessions_spawn'],
    by: [],
    matches: (prompt) => tasksRequest.exec(prompt),
    run: spawnTasks,
  },
  {
    name: 'delegate',
    example: 'delegate to @writer: TASK',
    does: 'hands the task to that agent; also on a model and with skills: delegate to @writer on big with style: TASK',
    needs: ['delegate'],
    by: [],
    matches: (prompt) => delegateRequest.exec(prompt),
    run: delegateTask,
  },
  {
    name: 'research',
    example: 'research XFS',
    does: 'quotes what the files of this folder say about it',
    needs: ['search_files'],
    by: ['researcher'],
    matches: (prompt) => researchTask.exec(prompt),
    run: researchTopic,
  },
  {
    name: 'remember',
    example: 'remember that the port is 8443',
    does: 'stores your statement and shows similar ones',
    needs: [],
    by: [],
    matches: (prompt) => /^(?:please )?remember(?:\s+that)?[\s:]+(.+)$/is.exec(prompt),
    run: storeStatement,
  },
  {
    name: 'recall',
    example: 'what do we know about the port?',
    does: 'quotes memories with their sources',
    needs: [],
    by: [],
    matches: (prompt) =>
      /^(?:please )?(?:what (?:do (?:we|you|i) know|was (?:decided|said|found)|(?:did|have) (?:we|you) (?:decided?|found|find|said?))(?: out)? about|recall)\s+(.+?)\s*[?.]?$/is.exec(
        prompt,
      ),
    run: quoteMemories,
  },
  {
    name: 'survey by parts',
    example: 'survey by parts',
    does: 'lists the parts of the folder with the number of their files, as a planner needs them',
    needs: ['list_dir', 'search_files'],
    by: ['researcher'],
    matches: (prompt) => /^(?:please )?survey\b.*\bby parts\b/is.exec(prompt),
    run: surveyParts,
  },
  {
    name: 'report',
    example: 'survey and report per part',
    does: 'plans a task for each part, a report and a check of its numbers; an agent alone writes one survey',
    needs: ['list_dir', 'search_files', 'write_file'],
    by: ['researcher'],
    matches: (prompt) =>
      /^(?:please )?(?:survey\b.*(?:\breport\b|\b(?:per|each|every) part\b|\b(?:into|to|as)\s+\S+\.(?:md|txt)\b)|(?:write|make) (?:me )?a report\b.*\bpart)/is.exec(
        prompt,
      ),
    run: writeSurvey,
  },
  {
    name: 'summarise',
    example: 'summarise src',
    does: `counts files, lines, exports and ${todoMarker}s of a part, and quotes where they are`,
    needs: ['search_files', 'read_file'],
    by: ['researcher'],
    matches: (prompt) => /^(?:please )?summari[sz]e\s+(.+)$/i.exec(prompt),
    run: summarisePart,
  },
  {
    name: 'check',
    example: 'check every number in REPORT.md',
    does: 'recounts the numbers of a report from the files and shows differences',
    needs: ['search_files', 'read_file'],
    by: ['code-review', 'researcher'],
    matches: (prompt) => /^(?:please )?check every number(?:\s+(?:in|of)\s+(\S+?))?\s*[.]?$/i.exec(prompt),
    run: checkReport,
  },
  {
    name: 'write a report',
    example: 'write REPORT.md',
    does: 'as a task of a plan: writes the counts of the tasks before it',
    needs: ['write_file'],
    by: ['writer'],
    matches: (prompt) => /^(?:please )?write\s+(\S+\.(?:md|txt))$/i.exec(prompt),
    run: writeReport,
  },
  {
    name: 'write',
    example: 'write NOTES.md: buy milk',
    does: 'writes the words you give into a file',
    needs: ['write_file'],
    by: ['writer'],
    matches: (prompt) => /^(?:please )?write\s+([^\s:]+)(?::|\s+with)\s+(.+)$/is.exec(prompt),
    run: writeWords,
  },
  {
    name: 'run',
    example: 'run npm test',
    does: 'runs the command you give and quotes its output',
    needs: ['exec'],
    by: ['tester', 'coder'],
    matches: (prompt) => /^(?:please )?(?:run|execute)\s+(.+)$/is.exec(prompt),
    run: runCommand,
  },
  {
    name: 'survey',
    example: 'survey this folder',
    does: `counts files and ${todoMarker}s in each part of the folder and quotes where they are`,
    needs: ['list_dir', 'search_files'],
    by: ['researcher'],
    matches: (prompt) =>
      /^(?:please )?(?:survey|overview|look around|what(?:'s| is| does)?\b.*\b(?:folder|project|repo(?:sitory)?|directory)\b)/i.exec(
        prompt,
      ),
    run: surveyFolder,
  },
  {
    name: 'find',
    example: `find "${todoMarker}" in src`,
    does: 'quotes the lines that contain a text, with path:line',
    needs: ['search_files'],
    by: ['researcher'],
    matches: (prompt) => findPattern.exec(prompt),
    run: findText,
  },
  {
    name: 'outline',
    example: 'outline README.md',
    does: 'quotes the headings or declarations of a file',
    needs: ['read_file'],
    by: ['researcher'],
    matches: (prompt) => /^(?:please )?outline\s+(?:of\s+)?(\S+?)\s*[?.]?$/i.exec(prompt),
    run: outlineFile,
  },
  {
    name: 'count',
    example: 'count lines in src/main.ts',
    does: 'counts files, also those of one kind, the lines or bytes of a file, or occurrences of a text',
    needs: ['search_files', 'read_file', 'list_dir'],
    by: ['researcher'],
    matches: (prompt) => {
      const match = textOfPathPattern.exec(prompt) ?? countPattern.exec(prompt)
      return match && canCount(match) ? match : null
    },
    run: countThings,
  },
  {
    name: 'ask back',
    example: 'ask me something',
    does: 'asks you a question instead of answering',
    needs: [],
    by: [],
    matches: (prompt) => /^ask (?:me|back)\b/i.exec(prompt),
    run: () => ({ text: 'Which file should I outline? Answer with: outline FILE' }),
  },
  {
    name: 'fail',
    example: 'fail',
    does: 'fails, so that you can see what that looks like',
    needs: [],
    by: [],
    matches: (prompt) => /^fail(?: on request)?\s*[.!]?$/i.exec(prompt),
    run: failOnRequest,
  },
]

/** Finds the ability that a prompt asks for. */
export function findPiece(prompt: string): { piece: Skill; match: RegExpExecArray } | undefined {
  for (const piece of repertoire) {
    const match = piece.matches(prompt)
    if (match) return { piece, match }
  }
  return undefined
}

/** Abilities of the coordinator only. */
export const coordinatorPieces: readonly Pick<Skill, 'name' | 'example' | 'does'>[] = [
  {
    name: 'fail a task',
    example: '… , let task 3 fail',
    does: 'at the end of a request for a report: that task fails, and you decide',
  },
  {
    name: 'decide',
    example: 'retry task:3 with: WORDS',
    does: 'tries a failed task again with a new brief; also skip task:3, cancel task:3, edit task:3 with: WORDS',
  },
  { name: 'drop', example: 'drop src/old', does: 'when you said no to a plan: plans again without that part' },
]

/** Answer to everything else. */
export function refusalText(): string {
  const names = repertoire.map(({ example }) => example).join(' · ')
  return `I am a script and cannot do that; a real model can: heddle models add. I can: ${names}`
}
