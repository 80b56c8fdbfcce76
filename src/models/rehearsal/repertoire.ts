import { checkReport } from './check.ts'
import { canCount, countThings } from './count.ts'
import { leftToDo } from './counted.ts'
import { failOnRequest } from './fail.ts'
import { findText } from './find.ts'
import { outlineFile } from './outline.ts'
import { wordsInPlace, wordsOfPlace } from './place-words.ts'
import { rememberWords, tellKnown } from './remember.ts'
import { writeReport } from './report.ts'
import { runCommand } from './run.ts'
import type { Seen, Step } from './seen.ts'
import { summarisePart } from './summarise.ts'
import { surveyFolder } from './survey.ts'
import { surveyParts } from './survey-parts.ts'
import { writeSurvey, writeWords } from './write.ts'

const asksToFind = wordsInPlace('find|search(?: for)?|grep|where is')
const asksToCount = wordsInPlace(String.raw`(?:count|how many)(?:\s+all)?(?:\s+of)?(?:\s+the)?`)

/** One thing that the stand-in can do. */
export interface Piece {
  name: string
  /** How to ask for it. */
  example: string
  does: string
  /** Tools without which it cannot be done. */
  needs: readonly string[]
  /** Agents that a coordinator gives it to, the first of them that there is; none: it does it itself. */
  by: readonly string[]
  /** What the words ask for, if they ask for this. */
  hears(asked: string): RegExpExecArray | null
  plays(seen: Seen, heard: RegExpExecArray): Step
}

/** Everything the stand-in can do: whatever is not here it refuses. */
export const repertoire: readonly Piece[] = [
  {
    name: 'remember',
    example: 'remember that the port is 8443',
    does: 'keeps your words, and names what looks alike',
    needs: [],
    by: [],
    hears: (asked) => /^(?:please )?remember(?:\s+that)?[\s:]+(.+)$/is.exec(asked),
    plays: rememberWords,
  },
  {
    name: 'recall',
    example: 'what do we know about the port?',
    does: 'quotes what was kept, with where it came from',
    needs: [],
    by: [],
    hears: (asked) =>
      /^(?:please )?(?:what (?:do (?:we|you|i) know|was (?:decided|said|found)|(?:did|have) (?:we|you) (?:decided?|found|find|said?))(?: out)? about|recall)\s+(.+?)\s*[?.]?$/is.exec(
        asked,
      ),
    plays: tellKnown,
  },
  {
    name: 'survey by parts',
    example: 'survey by parts',
    does: 'lists the parts of the folder with the number of their files, as a planner needs them',
    needs: ['list_dir', 'search_files'],
    by: ['researcher'],
    hears: (asked) => /^(?:please )?survey\b.*\bby parts\b/is.exec(asked),
    plays: surveyParts,
  },
  {
    name: 'report',
    example: 'survey and report per part',
    does: 'plans a task for each part, a report and a check of its numbers; an agent alone writes one survey',
    needs: ['list_dir', 'search_files', 'write_file'],
    by: ['researcher'],
    hears: (asked) =>
      /^(?:please )?(?:survey\b.*(?:\breport\b|\b(?:per|each|every) part\b|\b(?:into|to|as)\s+\S+\.(?:md|txt)\b)|(?:write|make) (?:me )?a report\b.*\bpart)/is.exec(
        asked,
      ),
    plays: writeSurvey,
  },
  {
    name: 'summarise',
    example: 'summarise src',
    does: `counts files, lines, exports and ${leftToDo}s of a part, and quotes where they are`,
    needs: ['search_files', 'read_file'],
    by: ['researcher'],
    hears: (asked) => /^(?:please )?summari[sz]e\s+(.+)$/i.exec(asked),
    plays: summarisePart,
  },
  {
    name: 'check',
    example: 'check every number in REPORT.md',
    does: 'counts the numbers of a report again from the files, and tells which differ',
    needs: ['search_files', 'read_file'],
    by: ['code-review', 'researcher'],
    hears: (asked) => /^(?:please )?check every number(?:\s+(?:in|of)\s+(\S+?))?\s*[.]?$/i.exec(asked),
    plays: checkReport,
  },
  {
    name: 'write a report',
    example: 'write REPORT.md',
    does: 'as a task of a plan: writes what the tasks before it have counted',
    needs: ['write_file'],
    by: ['writer'],
    hears: (asked) => /^(?:please )?write\s+(\S+\.(?:md|txt))$/i.exec(asked),
    plays: writeReport,
  },
  {
    name: 'write',
    example: 'write NOTES.md: buy milk',
    does: 'writes the words you give into a file',
    needs: ['write_file'],
    by: ['writer'],
    hears: (asked) => /^(?:please )?write\s+([^\s:]+)(?::|\s+with)\s+(.+)$/is.exec(asked),
    plays: writeWords,
  },
  {
    name: 'run',
    example: 'run npm test',
    does: 'runs the command you give, and quotes what it wrote',
    needs: ['exec'],
    by: ['tester', 'coder'],
    hears: (asked) => /^(?:please )?(?:run|execute)\s+(.+)$/is.exec(asked),
    plays: runCommand,
  },
  {
    name: 'survey',
    example: 'survey this folder',
    does: `counts files and ${leftToDo}s in each part of the folder and quotes where they are`,
    needs: ['list_dir', 'search_files'],
    by: ['researcher'],
    hears: (asked) =>
      /^(?:please )?(?:survey|overview|look around|what(?:'s| is| does)?\b.*\b(?:folder|project|repo(?:sitory)?|directory)\b)/i.exec(
        asked,
      ),
    plays: surveyFolder,
  },
  {
    name: 'find',
    example: `find "${leftToDo}" in src`,
    does: 'quotes the lines that hold a text, with path:line',
    needs: ['search_files'],
    by: ['researcher'],
    hears: (asked) => asksToFind.exec(asked),
    plays: findText,
  },
  {
    name: 'outline',
    example: 'outline README.md',
    does: 'quotes the headings or declarations of a file',
    needs: ['read_file'],
    by: ['researcher'],
    hears: (asked) => /^(?:please )?outline\s+(?:of\s+)?(\S+?)\s*[?.]?$/i.exec(asked),
    plays: outlineFile,
  },
  {
    name: 'count',
    example: 'count lines in src/main.ts',
    does: 'counts files, the lines of a file, or how often a text stands in files',
    needs: ['search_files', 'read_file'],
    by: ['researcher'],
    hears: (asked) => {
      const heard = wordsOfPlace.exec(asked) ?? asksToCount.exec(asked)
      return heard && canCount(heard[1] ?? '') ? heard : null
    },
    plays: countThings,
  },
  {
    name: 'ask back',
    example: 'ask me something',
    does: 'asks you a question instead of answering',
    needs: [],
    by: [],
    hears: (asked) => /^ask (?:me|back)\b/i.exec(asked),
    plays: () => ({ text: 'Which file shall I outline? Answer with: outline FILE' }),
  },
  {
    name: 'fail',
    example: 'fail',
    does: 'fails, so that you can see what that looks like',
    needs: [],
    by: [],
    hears: (asked) => /^fail(?: on request)?\s*[.!]?$/i.exec(asked),
    plays: failOnRequest,
  },
]

/** Finds what is asked for. */
export function pieceFor(asked: string): { piece: Piece; heard: RegExpExecArray } | undefined {
  for (const piece of repertoire) {
    const heard = piece.hears(asked)
    if (heard) return { piece, heard }
  }
  return undefined
}

/** What only a coordinator can be asked for. */
export const decisions: readonly Pick<Piece, 'name' | 'example' | 'does'>[] = [
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

/** What is said to everything else. */
export function refusal(): string {
  const names = repertoire.map(({ example }) => example).join(' · ')
  return `I am a script and cannot do that; a real model can: heddle models add. I can: ${names}`
}
