/** Phrases for the whole folder, which are not paths. */
const wholeFolder = String.raw`(?:this|the|that|my)\s+(?:whole\s+)?(?:folder|directory|project|repo(?:sitory)?)`

const textPattern = String.raw`(["“\`'].+?["”\`']|.+?)`
const pathPattern = String.raw`(?:${wholeFolder}|(\S+?))`

/** `… TEXT in PATH`: captures the text, and the path unless it is the whole folder. */
export function textInPathPattern(verb: string): RegExp {
  return new RegExp(
    String.raw`^(?:please )?(?:${verb})\s+${textPattern}(?:\s+(?:are|is)(?:\s+there)?)?(?:\s+(?:in|of)\s+${pathPattern}|\s+here)?\s*[?.!]?$`,
    'is',
  )
}

/** `how many TEXT does PATH have`, `how many TEXT has PATH`: captures the same. */
export const textOfPathPattern = new RegExp(
  String.raw`^(?:please )?how many\s+${textPattern}\s+(?:does|do|has|have)\s+${pathPattern}(?:\s+(?:have|hold|contain))?\s*[?.!]?$`,
  'is',
)
