package search

import "strings"

// synonymWeight is how much another word of the same meaning counts.
const synonymWeight = 0.5

// synonyms are, for each term, others that mean nearly the same. A line is a set of words of everyday and of technical
// English; Chinese words are of two characters, as the index has them. Words with several common meanings are left out:
// they would bring in more that is wrong than right.
var synonyms = func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.SplitSeq(sameMeaning, "\n") {
		var terms []string
		for w := range strings.FieldsSeq(line) {
			terms = append(terms, term(w))
		}
		for i, t := range terms {
			for j, other := range terms {
				if i != j && t != other {
					m[t] = append(m[t], other)
				}
			}
		}
	}
	return m
}()

const sameMeaning = `
delete remove erase discard purge drop
begin start launch boot
stop halt terminate quit
cancel abort
crash fail failure die
error fault mistake problem bug failure
fix repair mend solve
fast quick speed rapid performance
slow latency delay
big large huge
small tiny little compact
size length
picture image photo graphic
film movie video
car vehicle automobile
buy purchase
sell sale
cost price fee expensive
cheap inexpensive affordable
pay payment
money cash
doctor physician
sick ill illness disease
medicine drug
house home
child kid
job work employment
boss manager supervisor
employee worker staff
holiday vacation leave
salary wage pay
trip journey travel
luggage baggage
begin commence
end finish complete
connect link join attach
disconnect detach
send transmit deliver
receive obtain
fetch download retrieve
upload submit
save store persist
keep retain
hide conceal
show display print
reveal expose
allow permit
forbid prohibit deny refuse
choose select pick
change modify alter edit update
replace substitute swap
copy duplicate clone
move transfer relocate
split divide separate
combine merge join concatenate
compress shrink zip
decompress unpack extract unzip
encrypt cipher encode
decrypt decipher
password passphrase credential
secret private confidential
login signin authenticate
logout signout
user account
folder directory
file document
path location
network internet
web http
page document
url link address
server host
client caller
thread goroutine
parallel concurrent simultaneous
lock mutex
wait block
wake notify signal
queue backlog
list array slice
map dictionary hash
string text
number integer numeric
random arbitrary
sort order arrange
search find lookup
compare equal
check verify validate test
measure benchmark
count number
parse decode interpret
format layout
convert transform translate
write output
read input
log record journal
trace debug
memory ram
disk storage
backup snapshot
restore recover
limit bound maximum quota
timeout deadline expire
schedule plan
repeat retry
configure setting option configuration
install setup
uninstall remove
version release
upgrade update
documentation manual guide
example sample
question query
answer reply response
explain describe
need require
must required mandatory
optional
default
clean clear
wash rinse
cook boil
bake oven
eat food meal
drink beverage
hot warm heat
cold cool chill
dry
wet damp moist
rain precipitation
plant grow
garden yard
tree
animal pet
dog puppy
cat kitten
sleep rest
tired fatigue exhausted
pain ache hurt
injury wound
exercise workout training
teach instruct educate
learn study
school class
student pupil
teacher instructor
letter mail
phone telephone mobile
call ring
meeting appointment
calendar date
clock time
light lamp
electricity power
battery charge
water
leak drip
break damage broken
loud noise noisy
quiet silent
safe secure safety security
danger hazard risk
emergency urgent
fire burn
insurance cover
contract agreement
law legal
tax
rent lease tenant
neighbor neighbour
color colour
draw paint
song music
book
author writer
删除 移除 清除 去掉 抹掉
启动 开启 打开 运行
停止 关闭 终止 结束
取消 撤销 中止
错误 故障 问题 毛病
修复 修理 解决 维修
崩溃 宕机 挂掉
速度 快慢 性能
图片 照片 图像
购买 买入 采购
价格 费用 花费 成本
付款 支付 付钱 缴费
医生 大夫
生病 患病 疾病
药物 药品 吃药
房子 住房 房屋
孩子 儿童 小孩
工作 上班 任职
老板 经理 主管
员工 职员 雇员
假期 休假 放假 请假
工资 薪水 薪酬
旅行 旅游 出行
行李 箱子
连接 链接 接入
发送 寄出 传送
接收 收到
下载 获取
上传 提交
保存 存储 储存
备份 存档
恢复 还原 找回
密码 口令
登录 登陆 登入
用户 账号 账户
目录 文件夹
网络 上网
服务 服务器
并发 并行 同时
排序 次序
搜索 查找 检索 寻找
检查 核对 验证 校验
修改 更改 变更 编辑
复制 拷贝
合并 归并
压缩 打包
限制 上限
超时 过期 到期
重试 重复
设置 配置
安装 装上
升级 更新
清洁 清洗 打扫
烹饪 做饭 煮饭 做菜
植物 种植 栽培
动物 宠物
睡觉 睡眠 入睡
疲劳 疲倦 劳累
疼痛 疼
锻炼 运动 健身
学习 读书
学生 学员
老师 教师
电话 手机
会议 开会
灯光 照明
电力 供电 电源
电池 充电
漏水 渗水
损坏 坏掉 破损
噪音 吵闹 嘈杂
安全 保安
危险 风险
紧急 应急
火灾 着火
保险 投保
合同 协议
法律 法规
租房 租赁 租金
邻居 邻里
`
