/** Text with its character references resolved; what is none stays as it is. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#x([0-9a-f]+)|#([0-9]+)|([a-z][a-z0-9]{1,30}));?/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return named.get(name) ?? named.get(name.toLowerCase()) ?? whole
    return characterOf(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
  })
}

function characterOf(code: number): string {
  // Pages mean Windows-1252 where Unicode has controls.
  if (code >= 0x80 && code <= 0x9f) return new TextDecoder('windows-1252').decode(Uint8Array.of(code))
  const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : '\ufffd'
}

/** Names of consecutive characters from a code on; `-` where a character has none. */
const rows: [number, string][] = [
  [
    160,
    'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro ' +
      'para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil ' +
      'Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave ' +
      'Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml ' +
      'igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute ' +
      'thorn yuml',
  ],
  [
    913,
    'Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho - Sigma Tau Upsilon Phi Chi ' +
      'Psi Omega',
  ],
  [
    945,
    'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi ' +
      'chi psi omega',
  ],
  [
    0x2002,
    'ensp emsp - - - - - thinsp - - zwnj zwj lrm rlm - - - ndash mdash - - - lsquo rsquo sbquo - ldquo rdquo bdquo',
  ],
  [0x2020, 'dagger Dagger bull - - - hellip - - - - - - - - - permil - prime Prime - - - - - lsaquo rsaquo'],
  [0x2190, 'larr uarr rarr darr harr'],
  [0x21d0, 'lArr uArr rArr dArr hArr'],
  [0x2200, 'forall - part exist - empty - nabla isin notin - ni - - - prod - sum minus - - - - lowast - - radic'],
  [0x221d, 'prop infin - ang - - - - - - and or cap cup int'],
  [0x2264, 'le ge'],
]

const others: Record<string, number> = {
  ...{ amp: 38, lt: 60, gt: 62, quot: 34, apos: 39, num: 35, excl: 33, colon: 58, comma: 44, period: 46, sol: 47 },
  ...{ lpar: 40, rpar: 41, lsqb: 91, rsqb: 93, lcub: 123, rcub: 125, lowbar: 95, verbar: 124, ast: 42, plus: 43 },
  ...{ equals: 61, quest: 63, commat: 64, dollar: 36, percnt: 37, bsol: 92, grave: 96, Tab: 9, NewLine: 10, semi: 59 },
  ...{ OElig: 338, oelig: 339, Scaron: 352, scaron: 353, Yuml: 376, fnof: 402, circ: 710, tilde: 732, euro: 8364 },
  ...{ trade: 8482, asymp: 8776, ne: 8800, equiv: 8801, sim: 8764, cong: 8773, sub: 8834, sup: 8835, there4: 8756 },
  ...{ check: 10003, cross: 10007, star: 9734, starf: 9733, loz: 9674, spades: 9824, hearts: 9829, hyphen: 8208 },
}

const named = new Map<string, string>([
  ...rows.flatMap(([from, names]) =>
    names.split(' ').map((name, at): [string, string] => [name, String.fromCodePoint(from + at)]),
  ),
  ...Object.entries(others).map(([name, code]): [string, string] => [name, String.fromCodePoint(code)]),
])
named.delete('-')
