import { ModelFailure } from '../../domain/model.ts'
import { countThings } from './count.ts'
import { findText } from './find.ts'
import { outlineFile } from './outline.ts'
import { runCommand } from './run.ts'
import type { Seen, Step } from './seen.ts'
import { leftToDo, surveyFolder } from './survey.ts'
import { writeSurvey, writeWords } from './write.ts'

/** One thing that the stand-in can do. */
export interface Piece {
  name: string
  /** How to ask for it. */
  example: string
  does: string
  /** Tools without which it cannot be done. */
  needs: readonly string[]
  /** What the words ask for, if they ask for this. */
  hears(asked: string): RegExpExecArray | null
  plays(seen: Seen, heard: RegExpExecArray): Step
}

/** Everything the stand-in can do: whatever is not here it refuses. */
export const repertoire: readonly Piece[] = [
  {
    name: 'write a survey',
    example: 'survey into REPORT.md',
    does: 'surveys the folder, and writes what it counted into a file',
    needs: ['list_dir', 'search_files', 'write_file'],
    hears: (asked) => /^(?:please )?survey\b.*\b(?:into|to|as)\s+(\S+\.(?:md|txt))\s*[.]?$/is.exec(asked),
    plays: writeSurvey,
  },
  {
    name: 'write',
    example: 'write NOTES.md: buy milk',
    does: 'writes the words you give into a file',
    needs: ['write_file'],
    hears: (asked) => /^(?:please )?write\s+([^\s:]+)(?::|\s+with)\s+(.+)$/is.exec(asked),
    plays: writeWords,
  },
  {
    name: 'run',
    example: 'run npm test',
    does: 'runs the command you give, and quotes what it wrote',
    needs: ['exec'],
    hears: (asked) => /^(?:please )?(?:run|execute)\s+(.+)$/is.exec(asked),
    plays: runCommand,
  },
  {
    name: 'survey',
    example: 'survey this folder',
    does: `counts files and ${leftToDo}s in each part of the folder and quotes where they are`,
    needs: ['list_dir', 'search_files'],
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
    hears: (asked) =>
      /^(?:please )?(?:find|search(?: for)?|grep|where is)\s+(.+?)(?:\s+in\s+(\S+))?\s*[?.]?$/is.exec(asked),
    plays: findText,
  },
  {
    name: 'outline',
    example: 'outline README.md',
    does: 'quotes the headings or declarations of a file',
    needs: ['read_file'],
    hears: (asked) => /^(?:please )?outline\s+(?:of\s+)?(\S+?)\s*[?.]?$/i.exec(asked),
    plays: outlineFile,
  },
  {
    name: 'count',
    example: 'count lines in src/main.ts',
    does: 'counts files, the lines of a file, or how often a text stands in files',
    needs: ['search_files', 'read_file'],
    hears: (asked) =>
      /^(?:please )?(?:count|how many)\s+(?:the\s+)?(.+?)(?:\s+(?:are|is)(?:\s+there)?)?(?:\s+in\s+(\S+?))?\s*[?.]?$/i.exec(
        asked,
      ),
    plays: countThings,
  },
  {
    name: 'ask back',
    example: 'ask me something',
    does: 'asks you a question instead of answering',
    needs: [],
    hears: (asked) => /^ask (?:me|back)\b/i.exec(asked),
    plays: () => ({ text: 'Which file shall I outline? Answer with: outline FILE' }),
  },
  {
    name: 'fail',
    example: 'fail',
    does: 'fails, so that you can see what that looks like',
    needs: [],
    hears: (asked) => /^fail(?: on request)?\s*[.!]?$/i.exec(asked),
    plays: () => {
      throw new ModelFailure(
        'rehearsed_failure',
        'the script failed because you asked it to',
        'ask for something else',
        {
          retry: 'never',
        },
      )
    },
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
