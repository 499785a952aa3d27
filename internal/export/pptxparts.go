package export

// The parts of a presentation that are the same in every one, and the frames of those that are not.

const (
	officeRels  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	slideSpaces = `xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="` + officeRels + `" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"`
	relsFrame   = xmlHead + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">%s</Relationships>`
	emptyTree   = `<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>`
)

// slideTypes wants the slides.
const slideTypes = xmlHead + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
	`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>` +
	`<Default Extension="png" ContentType="image/png"/><Default Extension="jpeg" ContentType="image/jpeg"/><Default Extension="gif" ContentType="image/gif"/>` +
	`<Override PartName="/ppt/presentation.xml" ContentType="application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"/>` +
	`<Override PartName="/ppt/slideMasters/slideMaster1.xml" ContentType="application/vnd.openxmlformats-officedocument.presentationml.slideMaster+xml"/>` +
	`<Override PartName="/ppt/slideLayouts/slideLayout1.xml" ContentType="application/vnd.openxmlformats-officedocument.presentationml.slideLayout+xml"/>` +
	`<Override PartName="/ppt/theme/theme1.xml" ContentType="application/vnd.openxmlformats-officedocument.theme+xml"/>%s</Types>`

// presentation wants the list of slides.
const presentation = xmlHead + `<p:presentation ` + slideSpaces + `><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="m1"/></p:sldMasterIdLst>` +
	`<p:sldIdLst>%s</p:sldIdLst><p:sldSz cx="12192000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/></p:presentation>`

// slideXML wants the boxes.
const slideXML = xmlHead + `<p:sld ` + slideSpaces + `><p:cSld><p:spTree>` + emptyTree + `%s</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sld>`

// slidePicture wants what it shows, where it is from the left and the top, and how wide and high it is.
const slidePicture = `<p:pic><p:nvPicPr><p:cNvPr id="4" name="picture" descr="%s"/><p:cNvPicPr><a:picLocks noChangeAspect="1"/></p:cNvPicPr><p:nvPr/></p:nvPicPr>` +
	`<p:blipFill><a:blip r:embed="p1"/><a:stretch><a:fillRect/></a:stretch></p:blipFill>` +
	`<p:spPr><a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr></p:pic>`

const slideMaster = xmlHead + `<p:sldMaster ` + slideSpaces + `><p:cSld><p:bg><p:bgRef idx="1001"><a:schemeClr val="bg1"/></p:bgRef></p:bg><p:spTree>` + emptyTree + `</p:spTree></p:cSld>` +
	`<p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/>` +
	`<p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="l1"/></p:sldLayoutIdLst></p:sldMaster>`

const slideLayout = xmlHead + `<p:sldLayout ` + slideSpaces + ` type="obj"><p:cSld name="text"><p:spTree>` + emptyTree + `</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sldLayout>`

const slideTheme = xmlHead + `<a:theme xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" name="plain"><a:themeElements><a:clrScheme name="plain">` +
	`<a:dk1><a:srgbClr val="1C1C1C"/></a:dk1><a:lt1><a:srgbClr val="FFFFFF"/></a:lt1><a:dk2><a:srgbClr val="333333"/></a:dk2><a:lt2><a:srgbClr val="F4F4F4"/></a:lt2>` +
	`<a:accent1><a:srgbClr val="0B57D0"/></a:accent1><a:accent2><a:srgbClr val="5F6368"/></a:accent2><a:accent3><a:srgbClr val="188038"/></a:accent3><a:accent4><a:srgbClr val="B06000"/></a:accent4><a:accent5><a:srgbClr val="A142F4"/></a:accent5><a:accent6><a:srgbClr val="D93025"/></a:accent6>` +
	`<a:hlink><a:srgbClr val="0B57D0"/></a:hlink><a:folHlink><a:srgbClr val="5F6368"/></a:folHlink></a:clrScheme>` +
	`<a:fontScheme name="plain"><a:majorFont><a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/></a:majorFont><a:minorFont><a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/></a:minorFont></a:fontScheme>` +
	`<a:fmtScheme name="plain"><a:fillStyleLst>` + solid + solid + solid + `</a:fillStyleLst><a:lnStyleLst>` + outline + outline + outline + `</a:lnStyleLst>` +
	`<a:effectStyleLst>` + noEffect + noEffect + noEffect + `</a:effectStyleLst><a:bgFillStyleLst>` + solid + solid + solid + `</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>`

const (
	solid    = `<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>`
	outline  = `<a:ln w="9525"><a:solidFill><a:schemeClr val="phClr"/></a:solidFill></a:ln>`
	noEffect = `<a:effectStyle><a:effectLst/></a:effectStyle>`
)
