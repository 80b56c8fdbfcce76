/** Words for all of the folder: they name no path in it. */
const wholeFolder = String.raw`(?:this|the|that|my)\s+(?:whole\s+)?(?:folder|directory|project|repo(?:sitory)?)`

const words = String.raw`(["“\`'].+?["”\`']|.+?)`
const place = String.raw`(?:${wholeFolder}|(\S+?))`

/** `… WORDS in PLACE`: the words, and the path unless the place is all of the folder. */
export function wordsInPlace(verb: string): RegExp {
  return new RegExp(
    String.raw`^(?:please )?(?:${verb})\s+${words}(?:\s+(?:are|is)(?:\s+there)?)?(?:\s+(?:in|of)\s+${place}|\s+here)?\s*[?.!]?$`,
    'is',
  )
}

/** `how many WORDS does PLACE have`: likewise. */
export const wordsOfPlace = new RegExp(
  String.raw`^(?:please )?how many\s+${words}\s+(?:does|do)\s+${place}\s+(?:have|hold|contain)\s*[?.!]?$`,
  'is',
)
