package pdftext

import "strings"

// glyphs are the names of shapes that fonts of Latin, Greek and mathematics use, with the characters that they stand for.
var glyphs = func() map[string]string {
	m := map[string]string{}
	for pair := range strings.FieldsSeq(names) {
		n, chars, _ := strings.Cut(pair, "=")
		m[n] = chars
	}
	m["space"], m["nbspace"], m["nonbreakingspace"], m["visiblespace"] = " ", " ", " ", " "
	m["equal"] = "="
	return m
}()

const names = `
exclam=! quotedbl=" numbersign=# dollar=$ percent=% ampersand=& quotesingle=' parenleft=( parenright=) asterisk=* plus=+ comma=, hyphen=- period=. slash=/
zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 colon=: semicolon=; less=< greater=> question=? at=@
bracketleft=[ backslash=\ bracketright=] asciicircum=^ underscore=_ grave=` + "`" + ` braceleft={ bar=| braceright=} asciitilde=~
exclamdown=¡ cent=¢ sterling=£ currency=¤ yen=¥ brokenbar=¦ section=§ dieresis=¨ copyright=© ordfeminine=ª guillemotleft=« logicalnot=¬ registered=® macron=¯
degree=° plusminus=± twosuperior=² threesuperior=³ acute=´ mu=µ paragraph=¶ periodcentered=· cedilla=¸ onesuperior=¹ ordmasculine=º guillemotright=»
onequarter=¼ onehalf=½ threequarters=¾ questiondown=¿
Agrave=À Aacute=Á Acircumflex=Â Atilde=Ã Adieresis=Ä Aring=Å AE=Æ Ccedilla=Ç Egrave=È Eacute=É Ecircumflex=Ê Edieresis=Ë Igrave=Ì Iacute=Í Icircumflex=Î Idieresis=Ï
Eth=Ð Ntilde=Ñ Ograve=Ò Oacute=Ó Ocircumflex=Ô Otilde=Õ Odieresis=Ö multiply=× Oslash=Ø Ugrave=Ù Uacute=Ú Ucircumflex=Û Udieresis=Ü Yacute=Ý Thorn=Þ germandbls=ß
agrave=à aacute=á acircumflex=â atilde=ã adieresis=ä aring=å ae=æ ccedilla=ç egrave=è eacute=é ecircumflex=ê edieresis=ë igrave=ì iacute=í icircumflex=î idieresis=ï
eth=ð ntilde=ñ ograve=ò oacute=ó ocircumflex=ô otilde=õ odieresis=ö divide=÷ oslash=ø ugrave=ù uacute=ú ucircumflex=û udieresis=ü yacute=ý thorn=þ ydieresis=ÿ
Abreve=Ă abreve=ă Aogonek=Ą aogonek=ą Cacute=Ć cacute=ć Ccaron=Č ccaron=č Dcaron=Ď dcaron=ď Dcroat=Đ dcroat=đ Ecaron=Ě ecaron=ě Eogonek=Ę eogonek=ę Gbreve=Ğ gbreve=ğ
Idotaccent=İ dotlessi=ı dotlessj=ȷ Lslash=Ł lslash=ł Nacute=Ń nacute=ń Ncaron=Ň ncaron=ň Ohungarumlaut=Ő ohungarumlaut=ő OE=Œ oe=œ Rcaron=Ř rcaron=ř Sacute=Ś sacute=ś
Scaron=Š scaron=š Scedilla=Ş scedilla=ş Tcaron=Ť tcaron=ť Uhungarumlaut=Ű uhungarumlaut=ű Uring=Ů uring=ů Ydieresis=Ÿ Zacute=Ź zacute=ź Zcaron=Ž zcaron=ž Zdotaccent=Ż zdotaccent=ż
florin=ƒ circumflex=ˆ caron=ˇ breve=˘ dotaccent=˙ ring=˚ ogonek=˛ tilde=˜ hungarumlaut=˝
endash=– emdash=— quoteleft=‘ quoteright=’ quotesinglbase=‚ quotedblleft=“ quotedblright=” quotedblbase=„ dagger=† daggerdbl=‡ bullet=• ellipsis=… perthousand=‰
guilsinglleft=‹ guilsinglright=› fraction=⁄ Euro=€ trademark=™ minus=− hyphenminus=- sfthyphen=-
ff=ff fi=fi fl=fl ffi=ffi ffl=ffl st=st
Alpha=Α Beta=Β Gamma=Γ Delta=Δ Epsilon=Ε Zeta=Ζ Eta=Η Theta=Θ Iota=Ι Kappa=Κ Lambda=Λ Mu=Μ Nu=Ν Xi=Ξ Omicron=Ο Pi=Π Rho=Ρ Sigma=Σ Tau=Τ Upsilon=Υ Phi=Φ Chi=Χ Psi=Ψ Omega=Ω
alpha=α beta=β gamma=γ delta=δ epsilon=ε epsilon1=ϵ zeta=ζ eta=η theta=θ theta1=ϑ iota=ι kappa=κ lambda=λ nu=ν xi=ξ omicron=ο pi=π rho=ρ sigma=σ sigma1=ς tau=τ upsilon=υ phi=φ phi1=ϕ chi=χ psi=ψ omega=ω
partialdiff=∂ summation=∑ product=∏ integral=∫ radical=√ infinity=∞ approxequal=≈ notequal=≠ lessequal=≤ greaterequal=≥ lozenge=◊ element=∈ notelement=∉ intersection=∩ union=∪
arrowleft=← arrowup=↑ arrowright=→ arrowdown=↓ arrowboth=↔ arrowdblright=⇒ arrowdblleft=⇐ universal=∀ existential=∃ emptyset=∅ nabla=∇ gradient=∇ proportional=∝ angle=∠ logicaland=∧ logicalor=∨
similar=∼ congruent=≅ equivalence=≡ propersubset=⊂ propersuperset=⊃ reflexsubset=⊆ reflexsuperset=⊇ circleplus=⊕ circlemultiply=⊗ perpendicular=⊥ dotmath=⋅ asteriskmath=∗ prime=′ minute=′ second=″
`
